// Drives a dir2mcp server with the TypeScript MCP clients: list, search, open the cited span, get the same
// text back. `--package sdk` is the 1.x line, `--package client` the 2.x line, over HTTP and stdio.
// Prints one `ok` or `fail` line per check and `answer <JSON>` with the search result, which the caller
// compares between clients. Exits 1 if a check failed.
//
//   drive.mjs --package sdk|client --query WORD --path FILE [--era legacy|modern] --url URL [--token-file FILE]
//   drive.mjs --package sdk|client --query WORD --path FILE [--era legacy|modern] --stdio COMMAND ARG...
//
// The packages are installed outside the source tree; MCP_NODE_MODULES names the folder.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const TOOLS = ['search', 'ask', 'open_file', 'list_files', 'stats'].map((name) => `dir2mcp.${name}`)
const LEGACY = '2025-11-25'
const MODERN = '2026-07-28'

const options = parse(process.argv.slice(2))
const require = createRequire(`${process.env.MCP_NODE_MODULES}/`)
const load = (name) => import(pathToFileURL(require.resolve(name)).href)

const alarm = setTimeout(() => fail('the whole drive', 'took longer than 60 s'), 60_000)
const { client, transport } = await connect()
try {
  await client.connect(transport)
  await drive(client, transport)
} catch (error) {
  fail('the client', error?.stack ?? error)
} finally {
  clearTimeout(alarm)
  await client.close()
}

async function drive(client, transport) {
  const expected = options.package === 'client' && options.era === 'modern' ? MODERN : LEGACY
  const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? LEGACY
  check(`${options.package} agrees on ${expected}`, version === expected, `got ${version}`)

  const tools = (await client.listTools()).tools.map((tool) => tool.name)
  check('the core tools are listed', TOOLS.every((name) => tools.includes(name)), tools.join(' '))

  const found = await client.callTool({ name: 'dir2mcp.search', arguments: { query: options.query, k: 3 } })
  check('search succeeds', !found.isError, JSON.stringify(found.content))
  const answer = found.structuredContent
  const hit = answer.hits[0]
  check('search finds the file', hit?.rel_path === options.path, JSON.stringify(answer).slice(0, 400))
  const cited = `[${hit.rel_path}:L${hit.span.start_line}-L${hit.span.end_line}]`
  check('the text cites it', found.content.some((item) => item.text.includes(cited)), cited)

  const opened = await client.callTool({
    name: 'dir2mcp.open_file',
    arguments: { rel_path: hit.rel_path, start_line: hit.span.start_line, end_line: hit.span.end_line },
  })
  check('the cited span opens', !opened.isError, JSON.stringify(opened.content))
  const content = opened.structuredContent.content
  const bare = (text) => text.replace(/^[…\s]+|[…\s]+$/g, '')
  const missing = bare(hit.snippet).split('\n').map(bare).filter((line) => !content.includes(line))
  check('the opened text holds the snippet', missing.length === 0, JSON.stringify(missing))
  check('the opened text holds the query', content.includes(options.query))

  const refused = await client.callTool({ name: 'dir2mcp.open_file', arguments: { rel_path: '../outside.txt' } })
  const code = refused.structuredContent?.error?.code
  check('a path outside is refused', refused.isError && code === 'PATH_OUTSIDE_ROOT', code)

  const bundle = await client.callTool({
    name: 'repo.build_context_bundle',
    arguments: { prompt: `how does ${options.query} work?` },
  })
  const chosen = bundle.structuredContent?.result?.selections ?? []
  check('a bundle holds the file', chosen[0]?.path === options.path, JSON.stringify(bundle.content))
  const blocked = await client.callTool({ name: 'repo.open_file', arguments: { path: '../outside.txt' } })
  check('a blocked call says so', blocked.isError && blocked.structuredContent?.blocked === true)

  const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent
  const { roots } = await call('listRoots', {})
  check('the roots are listed', roots?.length > 0, JSON.stringify(roots))
  const indexed = await call('indexFolder', { root: roots[0] })
  check('a folder is indexed', indexed?.mcp_version === 'v1.0.0' && !indexed.running, JSON.stringify(indexed))
  const files = await call('searchFiles', { query: options.query, k: 3 })
  const item = files?.items?.[0]
  check('the file is found', item?.path.endsWith(options.path), JSON.stringify(files))
  const { preview } = await call('openFile', { path: item.path, pointer: item.pointer })
  const flat = (text) => text.split(/\s+/).join(' ')
  check('the preview holds the snippet', flat(preview).includes(flat(item.snippet)), preview)
  const forbidden = await client.callTool({ name: 'openFile', arguments: { path: '/etc/passwd' } })
  check('a file outside is forbidden', forbidden.isError && forbidden.structuredContent?.error?.code === 'FORBIDDEN')

  console.log(`answer ${JSON.stringify(sorted(answer))}`)
}

async function connect() {
  const info = { name: 'dir2mcp-tests', version: '1' }
  const headers = options.tokenFile
    ? { Authorization: `Bearer ${readFileSync(options.tokenFile, 'utf8').trim()}` }
    : {}
  const [command, ...args] = options.stdio ?? []
  if (options.package === 'sdk') {
    const { Client } = await load('@modelcontextprotocol/sdk/client/index.js')
    const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js')
    const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js')
    const transport = command
      ? new StdioClientTransport({ command, args })
      : new StreamableHTTPClientTransport(new URL(options.url), { requestInit: { headers } })
    return { client: new Client(info), transport }
  }
  const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client')
  const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio')
  const transport = command
    ? new StdioClientTransport({ command, args })
    : new StreamableHTTPClientTransport(new URL(options.url), { requestInit: { headers } })
  const negotiation = options.era === 'modern' ? { versionNegotiation: { mode: 'auto' } } : {}
  return { client: new Client(info, negotiation), transport }
}

function check(name, holds, detail) {
  if (!holds) fail(name, detail)
  console.log(`ok   ${name}`)
}

function fail(name, detail) {
  console.log(`fail ${name}: ${detail}`)
  process.exit(1)
}

// Keys in order, so that equal answers are equal texts.
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
}

function parse(args) {
  const parsed = { package: 'client', era: 'modern' }
  while (args.length > 0) {
    const flag = args.shift()
    if (flag === '--stdio') {
      parsed.stdio = args.splice(0)
    } else {
      const key = { '--package': 'package', '--query': 'query', '--path': 'path', '--era': 'era' }[flag]
        ?? { '--url': 'url', '--token-file': 'tokenFile' }[flag]
      if (key === undefined) fail('the arguments', flag)
      parsed[key] = args.shift()
    }
  }
  return parsed
}
