//! One small program in each language, and everything that is read from it.

use std::fmt::Write;

use lang::{Language, OutlineLimits, ReferenceKind, parse};

/// Symbols, imports and uses as lines.
fn read(language: Language, source: &str) -> String {
    let parsed = parse(language, source, &OutlineLimits::default());
    let mut out = String::new();
    for s in &parsed.symbols {
        let _ = write!(out, "{}-{} {} {} | {}", s.start_line, s.end_line, s.kind, s.qualified, s.signature);
        if s.lead_line != s.start_line {
            let _ = write!(out, " | from {}", s.lead_line);
        }
        if let Some(doc) = &s.doc {
            let _ = write!(out, " | {doc}");
        }
        if let Some(context) = &s.decl_context {
            let _ = write!(out, " | under {context}");
        }
        out.push('\n');
    }
    for i in &parsed.imports {
        let _ = write!(out, "import {}", i.module);
        for part in [&i.name, &i.alias].into_iter().flatten() {
            let _ = write!(out, " {part}");
        }
        out.push('\n');
    }
    let uses: Vec<String> = parsed
        .references
        .iter()
        .filter(|r| r.kind != ReferenceKind::Import)
        .map(|r| format!("{} {}", r.kind.as_str(), r.name))
        .collect();
    let _ = writeln!(out, "{}", uses.join(", "));
    if let Some(shortfall) = parsed.shortfall {
        let _ = writeln!(out, "{shortfall}");
    }
    out
}

macro_rules! languages {
    ($($test:ident $language:ident $source:literal)*) => {
        $(#[test]
        fn $test() {
            insta::assert_snapshot!(read(Language::$language, $source));
        })*
    };
}

languages! {
    rust Rust r#"
use std::{fmt, collections::HashMap as Map};

/// A service.
#[derive(Debug)]
pub struct Service<T> { inner: Inner<T> }

pub trait Runner: Send {
    type Output;
    fn run(&self) -> Self::Output;
}

impl<T> Runner for Service<T> {
    type Output = u8;
    fn run(&self) -> u8 {
        fn helper() {}
        self.inner.start(helper());
        println!("{}", Map::new());
        Other { a: 1 }
    }
}

mod inside {
    pub const LIMIT: usize = 10;
    macro_rules! m { () => {} }
}
"#
    javascript JavaScript r#"
import React, { useState as state } from "react";
const fs = require("fs");

/** Greets. */
export function greet(name) { return hello(name); }

export default class App extends React.Component {
  static #count = 0;
  handle = () => { this.setState({}); };
  constructor() { super(); }
  get name() { return new Thing(); }
}

const add = (a, b) => a + b;
const table = { one() {}, two: function () {} };
App.prototype.later = function later() {};
module.exports.out = () => <Widget />;
if (x) { function conditional() {} }
"#
    typescript TypeScript r#"
import type { A } from "./a";

export interface Shape<in out T> extends Base { area(): number; name: string }
export type Id = string | number;
export enum Color { Red, Green }
declare namespace Outer.Inner { function f(a: A): void; }

@Injectable()
export abstract class Service implements Shape<A> {
  private readonly items: Map<string, Id> = new Map();
  abstract area(): number;
  async load<T>(id: Id): Promise<T> { return this.fetch(id); }
}
"#
    tsx Tsx r#"
export const Button: React.FC<Props> = ({ label }) => <Icon.Large label={label} />;
"#
    go Go r#"
package server

import (
	"fmt"
	h "net/http"
)

// Limit is a limit.
const Limit = 10

// Server serves.
type Server struct {
	mux *h.ServeMux
}

type Handler interface {
	Handle(w h.ResponseWriter) error
}

type ID = string

// Run runs.
func (s *Server) Run(addr string) error {
	fmt.Println(addr)
	return start(Server{})
}

func start(s Server) error { return nil }
"#
    java Java r#"
package a.b;

import java.util.List;
import static java.lang.Math.*;

/** A service. */
@Component
public class Service extends Base implements Runnable, Closeable {
    private final List<String> items;

    public Service(List<String> items) { this.items = items; }

    @Override
    public void run() {
        items.forEach(new Printer()::print);
        helper(1);
    }

    enum Mode { ON, OFF }
    record Point(int x, int y) {}
    interface Inner { int size(); }
}
"#
    c C r#"
#ifndef A_H
#define A_H
#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* A point. */
struct point { int x; };
typedef struct { int y; } size_pair;
typedef unsigned long word;
enum color { RED };

int declared(struct point *p);

/* Adds. */
static int
add(int a, int b)
{
    return printf("%d", a + b);
}

#ifdef WIN
void *win(void) { return 0; }
#endif
#endif
"#
    cpp Cpp r#"
#include "a.h"
namespace outer::inner {
// A box.
template <typename T>
class Box : public Base<T> {
 public:
  explicit Box(T value) : value_(value) {}
  ~Box();
  T get() const;
  operator const char*() const { return 0; }
  bool operator==(const Box& other) const;
 private:
  T value_;
};
using Text = std::string;
enum class Mode { On };
}

template <typename T>
T outer::inner::Box<T>::get() const { return make<T>(new Thing(1)); }
"#
    csharp CSharp r#"
using System.Collections;

namespace A.B {
    /// <summary>
    /// A service.
    /// </summary>
    [Serializable]
    public class Service : Base, IRunner {
        public string Name { get; set; }
        public event EventHandler Done;
        public Service(int a) : base(a) { }
        public async Task<int> Run(Options o) { Helper.Go(new Thing()); return 1; }
        public static bool operator ==(Service a, Service b) { return true; }
        public int this[int i] => i;
        enum Mode { On }
        delegate void Handler(int a);
    }
    public record Point(int X);
    interface IRunner { void Stop(); }
}
"#
    ruby Ruby r#"
require "set"
module Outer
  LIMIT = 10

  # A service.
  class Service < Base::Thing
    include Comparable

    def initialize(name) = @name = name

    # Runs.
    def self.run(*args)
      Helper.new(args).go
    end

    def ready? = true
  end
end
class Outer::Late
end
"#
    php Php r#"<?php
namespace App\Http;

use App\Models\User as U;

/** A service. */
#[Service]
final class Service extends Base implements Runner
{
    const LIMIT = 10;

    public function __construct(private U $user) {}

    public static function run(?Options $o): int
    {
        return helper(new \A\Thing(), $this->user->go(), Other::make());
    }
}

interface Runner { public function stop(); }
trait Logs {}
enum Suit: string { case Hearts = 'H'; }
function helper($a) { return $a; }
"#
    kotlin Kotlin r#"
package a.b

import kotlin.math.*
import c.Thing as Other

/** A service. */
@Singleton
class Service(val name: String) : Base(name), Runner {
    private val items: List<String> = listOf()

    constructor() : this("x")

    override fun run(o: Options): Int = helper(Other()).go()

    companion object {
        const val LIMIT = 10
    }
}

interface Runner { fun stop() }
enum class Mode { ON }
object Registry
typealias Id = String
fun String.shout() = uppercase()
"#
    swift Swift r#"
import Foundation

/// A service.
@MainActor
public final class Service: Base, Runner {
    let name: String
    var size: Int { items.count }

    init(name: String) { self.name = name }
    deinit {}

    func run(_ o: Options) -> Int { helper(Thing()).go() }
}

protocol Runner { func stop() }
struct Point { var x: Int }
enum Mode { case on }
extension Service { func more() {} }
typealias Id = String
"#
    scala Scala r#"
package a.b

import scala.util.{Try, Success => Ok}

/** A service. */
class Service(name: String) extends Base(name) with Runner {
  val limit: Int = 10
  def run(o: Options): Int = helper(new Thing).go(1)
}

object Service { def apply(): Service = new Service("x") }
trait Runner { def stop(): Unit }
enum Mode { case On }
type Id = String
given ordering: Ordering[Id] = ???
"#
    bash Bash r#"#!/bin/bash
source ./lib.sh

# Builds.
build() {
  echo "x" | run_it
}

function deploy {
  build
}
"#
    lua Lua r#"
local M = {}
local json = require("json")

--- Greets.
function M.greet(name)
  print(name)
end

function M:method() return self.x:go() end
local function helper() end
local lambda = function(a) return a end
M.later = function() end
return M
"#
    haskell Haskell r#"
module Data.Service (run) where

import qualified Data.Map as M
import Data.List (sort, nub)

-- | A service.
data Service a = Service { name :: String } | Other a

newtype Id = Id Int
type Name = String

class Runner a where
  go :: a -> Int

instance Runner Id where
  go (Id n) = n

-- | Runs.
run :: Service a -> Int
run (Service n) = helper n
run _ = 0

helper n = length (sort n)
"#
    elixir Elixir r#"
defmodule App.Service do
  @moduledoc "A service."
  use GenServer
  alias App.Helper

  @type id :: integer()

  @doc "Runs."
  @spec run(id) :: :ok
  def run(id) when id > 0 do
    Helper.go(id)
    start(id)
  end

  defp start(id), do: id
  defmacro twice(x), do: x
end

defimpl String.Chars, for: App do
end
"#
    zig Zig r#"
const std = @import("std");

/// A point.
pub const Point = struct {
    x: i32,

    pub fn init(x: i32) Point {
        return helper(x);
    }
};

const Mode = enum { on, off };
pub const limit: usize = 10;

fn helper(x: i32) Point {
    std.debug.print("{}", .{x});
}

test "adds" {}
"#
    sql Sql r#"
-- Users.
CREATE TABLE app.users (id int PRIMARY KEY, name text);
CREATE VIEW active AS SELECT id FROM app.users;
CREATE INDEX users_name ON app.users (name);
CREATE FUNCTION add(a int, b int) RETURNS int AS $$ SELECT a + b $$ LANGUAGE sql;
CREATE OR REPLACE FUNCTION nameless ( TEXT, TEXT[] )
RETURNS int AS $a$ SELECT ';' $a$ LANGUAGE sql;
"#
    markdown Markdown r#"
# Title

Text.

## First

```sh
# not a heading
```

### Deep

Second
------

Last.
"#
    html Html r#"<!DOCTYPE html>
<html>
<head><title>A page</title><script src="app.js"></script></head>
<body>
<h1>Hello <em>there</em></h1>
<div id="main">
  <h2>Part</h2>
</div>
</body>
</html>
"#
    css Css r#"
@import url("base.css");
/* The body. */
body, .page > a:hover { color: red; }
@media (min-width: 10px) {
  .wide { width: 1px; }
}
@keyframes spin { from { top: 0 } }
"#
    json Json r#"{
  "name": "x",
  "scripts": { "test": "run", "nested": { "deep": { "deeper": 1 } } },
  "list": [ { "in": 1 } ]
}
"#
    yaml Yaml r#"
# The name.
name: x
jobs:
  build:
    runs-on: linux
    steps:
      - name: a
  test:
    runs-on: linux
"#
    toml Toml r#"
title = "x"

# About.
[package]
name = "a"
version = "1"

[[bin]]
name = "b"

[dependencies.serde]
version = "1"
"#
}
