<!DOCTYPE html>
<p class="{">It's a page.</p>
<?php

namespace App\Models;

use App\Contracts\Named;

/** Says hello. */
function hello(string $name): string
{
    $text = "brace { and {$names["first"]} and }";
    // a brace in a comment { ?><b>{</b><?php
    # another {
    return `echo {` . $text . 'it\'s {' . <<<EOT
        A brace { in a text, and $name.
        EOTHER
        EOT . <<<'RAW'
}}}}
RAW;
}

function &by_reference(array &$items)
{
    foreach ($items as $item) { ?>
        <li><?= $item ?>{</li>
    <?php }
    return $items;
}

abstract class Base implements Named
{
    const LIMIT = 10;

    #[Pure]
    public function name(): string
    {
        $kind = Named::class . $this->class;
        return match (true) {
            $kind === '' => 'none',
            default => $this->{$kind},
        };
    }

    abstract protected function missing(): void;

    public function loads(): void
    {
        if ($this->name()) {
            require_once __DIR__ . '/more.php';
            include 'literal.php';
        }
    }

    public function makes(): object
    {
        return new class extends Base {
            protected function missing(): void
            {
                echo 'here and nowhere else';
            }
        };
    }
}

if (!function_exists('helper')) {
    function helper($a)
    {
        $double = function ($x) use ($a) { return $x * 2 + $a; };
        function inner_helper() {
            return 'declared when the outer one runs';
        }
        return array_map($double, [1, 2, 3]);
    }
}

$handler = function () {
    return 'a closure at the top of the file has no name';
};

enum Suit: string
{
    case Hearts = 'H';

    public static function first(): self
    {
        return self::Hearts; // the first of them
    }
}
