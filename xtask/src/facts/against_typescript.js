// Compares facts about JavaScript and TypeScript declarations with the TypeScript compiler's own tree.
// Arguments: the folder that holds node_modules/typescript, the facts program, then folders or files.
//
// Which declarations there are is compared elsewhere (outlines against ctags); here each fact of the compiler's tree is given to
// the innermost of our declarations around it. For each fact: how many pairs both have, only we have, only the reference has.
const fs = require("fs");
const path = require("path");
const { spawnSync } = require("child_process");
const [tools, program, ...places] = process.argv.slice(2);
const ts = require(path.join(tools, "node_modules", "typescript"));
const K = ts.SyntaxKind;
const SHOW = Number(process.env.FACTS_SHOW || 3);
const SHORT = { calls: "c", uses: "u", reads: "r", writes: "w", mutates: "m", aliases: "a", throws: "t", awaits: "aw",
  branches: "n_b", loops: "n_l", breaks: "n_k", continues: "n_c", returns: "n_r", yields: "n_y" };
const LISTS = ["calls", "uses", "writes", "mutates", "aliases", "throws", "awaits", "reads"];
const NUMBERS = ["branches", "loops", "breaks", "continues", "returns", "yields"];

function files(place) {
  if (fs.statSync(place).isFile()) return [place];
  return fs.readdirSync(place, { withFileTypes: true }).flatMap((entry) => {
    const inner = path.join(place, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : files(inner);
    return /\.(js|mjs|cjs|jsx|ts|tsx|mts|cts)$/.test(entry.name) && !/\.min\.js$/.test(entry.name) ? [inner] : [];
  });
}

function unwrap(node) {
  while (node && (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isNonNullExpression(node)
    || (ts.isSatisfiesExpression && ts.isSatisfiesExpression(node)))) node = node.expression;
  return node;
}
// A path of names: a.b.c, this.#x. No calls, no elements.
function dotted(node, elements) {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text;
  if (node.kind === K.ThisKeyword) return "this";
  if (node.kind === K.SuperKeyword) return "super";
  if (ts.isNonNullExpression(node)) return dotted(node.expression, elements);
  if (ts.isPropertyAccessExpression(node)) {
    const left = dotted(node.expression, elements);
    return left && `${left}.${node.name.text}`;
  }
  if (elements && ts.isElementAccessExpression(node)) {
    const left = dotted(node.expression, elements);
    return left && `${left}[]`;
  }
  return undefined;
}
function last(node) {
  node = unwrap(node);
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const callee = unwrap(node.expression);
    return dotted(callee, true) || (ts.isPropertyAccessExpression(callee) ? callee.name.text : undefined);
  }
  if (ts.isAwaitExpression(node)) return last(node.expression);
  return dotted(node, true) || (ts.isPropertyAccessExpression(node) ? node.name.text : undefined);
}
function bound(name, out) {
  if (ts.isIdentifier(name)) out.push(name.text);
  else for (const each of name.elements) if (!ts.isOmittedExpression(each)) bound(each.name, out);
  return out;
}

const all = places.flatMap(files).sort();
const done = spawnSync(program, [], { input: all.join("\n"), maxBuffer: 1 << 30, encoding: "utf8" });
if (done.status !== 0) throw new Error(done.stderr);
const both = {}, ours = {}, theirs = {}, shown = {};
let compared = 0, declarations = 0;
function note(fact, got, want, where) {
  const onlyHere = [...got].filter((x) => !want.has(x)), onlyThere = [...want].filter((x) => !got.has(x));
  both[fact] = (both[fact] || 0) + got.size - onlyHere.length;
  ours[fact] = (ours[fact] || 0) + onlyHere.length;
  theirs[fact] = (theirs[fact] || 0) + onlyThere.length;
  if ((onlyHere.length || onlyThere.length) && (shown[fact] || 0) < SHOW) {
    shown[fact] = (shown[fact] || 0) + 1;
    console.log(`${where}: ${fact}: only here ${onlyHere.slice(0, 4)}; only there ${onlyThere.slice(0, 4)}`);
  }
}

for (const line of done.stdout.split("\n").filter(Boolean)) {
  const { path: file, facts } = JSON.parse(line);
  const source = fs.readFileSync(file, "utf8");
  if (facts.shortfall || source.includes("\r") || source.charCodeAt(0) === 0xfeff) continue;
  const kind = /\.tsx$/.test(file) ? ts.ScriptKind.TSX : /\.[mc]?ts$/.test(file) ? ts.ScriptKind.TS : ts.ScriptKind.JSX;
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, kind);
  if (tree.parseDiagnostics.length) continue;
  compared += 1;
  // Bytes, as our offsets are.
  const bytes = /[^\x00-\x7f]/.test(source) ? byteOffsets(source) : undefined;
  const at = (position) => (bytes ? bytes[position] : position);
  const rows = facts.declarations.map((each) => {
    const row = { each };
    for (const name of LISTS) row[name] = new Set();
    for (const name of NUMBERS) row[name] = 0;
    return row;
  });
  declarations += rows.length;
  const owner = (position) => {
    let found = rows[0];
    for (const row of rows) if (row.each.b[0] <= position && position < row.each.b[1] && row.each.k !== "file") found = row;
    return found;
  };
  const visit = (node) => {
    if (ts.isDecorator(node)) return ts.forEachChild(node, usesOnly);
    const row = owner(at(node.getStart(tree)));
    switch (node.kind) {
      case K.IfStatement: case K.ConditionalExpression: case K.CaseClause: case K.DefaultClause: case K.CatchClause:
        row.branches += 1; break;
      case K.ForStatement: case K.ForInStatement: case K.ForOfStatement: case K.WhileStatement: case K.DoStatement:
        row.loops += 1; break;
      case K.BreakStatement: row.breaks += 1; break;
      case K.ContinueStatement: row.continues += 1; break;
      case K.ReturnStatement: row.returns += 1; break;
      case K.YieldExpression: row.yields += 1; break;
      case K.ThrowStatement: { const name = last(node.expression); if (name) row.throws.add(name); break; }
      case K.AwaitExpression: { const name = last(node.expression); if (name) row.awaits.add(name); break; }
    }
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const callee = unwrap(node.expression);
      const isImport = callee.kind === K.ImportKeyword || (ts.isIdentifier(callee) && callee.text === "require");
      if (!isImport && callee.kind !== K.SuperKeyword) {
        const end = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
        const name = dotted(callee, true) || (ts.isPropertyAccessExpression(callee) ? callee.name.text : undefined);
        if (name && !ts.isElementAccessExpression(callee)) owner(at(end.getStart(tree))).calls.add(name);
      }
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind >= K.FirstAssignment
      && node.operatorToken.kind <= K.LastAssignment) {
      // `a.b = function …` declares `a.b`.
      const declares = rows.some((each) => each.each.b[0] === at(node.getStart(tree)) && each.each.b[1] === at(node.end)
        && each.each.k !== "file");
      if (!declares) written(node.left);
      if (node.operatorToken.kind === K.EqualsToken) {
        const left = dotted(node.left), right = dotted(node.right);
        const isName = ts.isIdentifier(node.right) || ts.isPropertyAccessExpression(node.right);
        if (left && right && isName && right !== "undefined") row.aliases.add(`${left}=${right}`);
      }
    }
    if ((ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node))
      && (node.operator === K.PlusPlusToken || node.operator === K.MinusMinusToken)) written(node.operand);
    if (ts.isVariableDeclaration(node)) {
      const isDeclared = rows.some((each) => each.each.b[0] === at(node.getStart(tree)) && each.each.b[1] === at(node.end)
        && each.each.k !== "file");
      const isLoop = ts.isForInStatement(node.parent.parent) || ts.isForOfStatement(node.parent.parent);
      if ((node.initializer || isLoop) && !isDeclared && !ts.isCatchClause(node.parent)) {
        for (const name of bound(node.name, [])) row.writes.add(name);
        if (node.initializer && ts.isIdentifier(node.name)) {
          const right = dotted(node.initializer);
          const isName = ts.isIdentifier(node.initializer) || ts.isPropertyAccessExpression(node.initializer);
          if (right && isName && right !== "undefined") row.aliases.add(`${node.name.text}=${right}`);
        }
      }
    }
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) row.uses.add(node.text);
    ts.forEachChild(node, visit);
  };
  const usesOnly = (node) => {
    if (ts.isIdentifier(node)) owner(at(node.getStart(tree))).uses.add(node.text);
    ts.forEachChild(node, usesOnly);
  };
  const written = (target) => {
    target = unwrap(target);
    const row = owner(at(target.getStart(tree)));
    if (ts.isIdentifier(target)) row.writes.add(target.text);
    else if (ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target)) {
      const name = dotted(target, true);
      if (name) row.mutates.add(name);
    } else if (ts.isArrayLiteralExpression(target)) target.elements.forEach((e) => written(ts.isSpreadElement(e) ? e.expression : e));
    else if (ts.isObjectLiteralExpression(target)) for (const p of target.properties) {
      if (ts.isShorthandPropertyAssignment(p)) written(p.name);
      else if (ts.isPropertyAssignment(p)) written(p.initializer);
      else if (ts.isSpreadAssignment(p)) written(p.expression);
    } else if (ts.isBinaryExpression(target)) written(target.left);
  };
  visit(tree);
  rows.forEach((row, index) => {
    const where = `${file}:${row.each.l[0]} ${row.each.q}`;
    for (const fact of LISTS) {
      if (fact === "reads") continue;
      const got = new Set(row.each[SHORT[fact]] || []);
      if (got.size < 2000) note(fact, got, new Set([...row[fact]].filter((x) => x.length <= 200 && x !== "")), where);
    }
    for (const fact of NUMBERS) note(fact, new Set([row.each[SHORT[fact]] || 0]), new Set([row[fact]]), where);
  });
}

function byteOffsets(text) {
  const out = new Uint32Array(text.length + 1);
  let at = 0;
  for (let index = 0; index < text.length; index += 1) {
    out[index] = at;
    const code = text.charCodeAt(index);
    if (code < 0x80) at += 1;
    else if (code < 0x800) at += 2;
    else if (code >= 0xd800 && code < 0xdc00) { at += 4; out[index + 1] = at; index += 1; }
    else at += 3;
  }
  out[text.length] = at;
  return out;
}

console.log(`\n${compared} files, ${declarations} declarations`);
let worst = 1;
for (const fact of Object.keys(both)) {
  const [b, o, t] = [both[fact], ours[fact], theirs[fact]];
  const precision = b / Math.max(1, b + o), recall = b / Math.max(1, b + t);
  if (b + o) worst = Math.min(worst, precision);
  if (b + t) worst = Math.min(worst, recall);
  console.log(`${fact.padEnd(12)}${String(b).padStart(9)}${String(o).padStart(9)}${String(t).padStart(9)}  ${precision.toFixed(4)}  ${recall.toFixed(4)}`);
}
if (!compared || worst < 0.98) { console.error(`the worst is ${worst.toFixed(4)}, less than 0.98`); process.exit(1); }
