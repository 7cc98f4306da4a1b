#include <stdio.h>
#define CALL(x) do { \
        f(x); \
    } while (0)

/* Says } and { and "quotes". */
struct point { int x; int y; };

static const char *names[] = {
    "a {", "b }",
    "'",
};

int first(int a) {
    /* } */ // }
    char c = '}', d = '\'', *s = "}\"{";
    if (a) {
        return c + d + s[0];
    }
    return 0;
}

struct point *second(struct point *p)
{
    struct local { int z; } l = { 1 };
#ifdef A
    if (p->x) {
        l.z = 2;
    }
#else
    l.z = 3;
#endif
#define INSIDE 1
    return p;
}

struct __attribute__((packed)) third {
    struct fourth {
        int value;
    } inner;
};
