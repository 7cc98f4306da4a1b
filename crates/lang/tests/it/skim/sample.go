package main

import "fmt"

// Point says { and }.
type Point struct {
	X int
}

var table = map[string]func() int{
	"a": func() int {
		var inner = 1
		return inner
	},
}

func First(a interface{}) (b struct{}, err error) {
	c := '}'
	s := `}
{`
	if c == '{' {
		fmt.Println(s, "}")
	}
	return
}

func (p *Point) Second() interface{} {
	type local struct {
		y int
	}
	return local{y: p.X}
}

func Third() map[string]struct{} {
	switch x := any(1).(type) {
	case int:
		fmt.Println(x)
	}
	return nil
}

const (
	A = iota
	B
)
