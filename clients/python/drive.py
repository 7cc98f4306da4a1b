"""Drives a dir2mcp server with the Python MCP client: list, search, open the cited span, get the same text back.

Works with both lines of the `mcp` package: 1.x (`ClientSession`) and 2.x (`Client`), over HTTP and stdio.
Prints one `ok` or `fail` line per check and `answer <JSON>` with the search result, which the caller
compares between clients. Exits 1 if a check failed.

    drive.py --query WORD --path FILE [--era legacy|modern] --url URL [--token-file FILE]
    drive.py --query WORD --path FILE [--era legacy|modern] --stdio COMMAND ARG...
"""

import argparse
import asyncio
import contextlib
import importlib.metadata
import json
import sys

PACKAGE = importlib.metadata.version("mcp")
TOOLS = {"dir2mcp.search", "dir2mcp.ask", "dir2mcp.open_file", "dir2mcp.list_files", "dir2mcp.stats"}
LEGACY, MODERN = "2025-11-25", "2026-07-28"


class Failed(Exception):
    """A check that did not hold; the rest would only repeat it."""


def check(name, holds, detail=""):
    print(("ok   " if holds else "fail ") + name + (f": {detail}" if detail and not holds else ""))
    if not holds:
        raise Failed(name)


@contextlib.asynccontextmanager
async def connect_1(options):
    """mcp 1.x: a session over a transport. Yields the session and the protocol version it agreed on."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    if options.stdio:
        transport = stdio_client(StdioServerParameters(command=options.stdio[0], args=options.stdio[1:]))
    else:
        transport = streamablehttp_client(options.url, headers=options.headers)
    async with transport as streams, ClientSession(streams[0], streams[1]) as session:
        greeting = await session.initialize()
        yield session, greeting.protocolVersion


@contextlib.asynccontextmanager
async def connect_2(options):
    """mcp 2.x: one client object that chooses the era itself unless told."""
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    mode = "legacy" if options.era == "legacy" else "auto"
    if options.stdio:
        server = StdioServerParameters(command=options.stdio[0], args=options.stdio[1:])
        async with Client(server, mode=mode) as client:
            yield client, client.protocol_version
    else:
        async with create_mcp_http_client(headers=options.headers) as http:
            async with Client(streamable_http_client(options.url, http_client=http), mode=mode) as client:
                yield client, client.protocol_version


def structured(result):
    return result.structuredContent if hasattr(result, "structuredContent") else result.structured_content


def is_error(result):
    return bool(result.isError if hasattr(result, "isError") else result.is_error)


async def drive(options):
    connect = connect_1 if PACKAGE.startswith("1.") else connect_2
    expected = LEGACY if PACKAGE.startswith("1.") or options.era == "legacy" else MODERN
    async with connect(options) as (client, version):
        check(f"mcp {PACKAGE} agrees on {expected}", version == expected, f"got {version}")

        tools = {tool.name for tool in (await client.list_tools()).tools}
        check("the core tools are listed", TOOLS <= tools, f"missing {sorted(TOOLS - tools)}")

        found = await client.call_tool("dir2mcp.search", {"query": options.query, "k": 3})
        check("search succeeds", not is_error(found), found.content)
        answer = structured(found)
        hits = answer["hits"]
        check("search finds the file", hits and hits[0]["rel_path"] == options.path, json.dumps(answer)[:400])
        hit = hits[0]
        span = hit["span"]
        cited = f"[{hit['rel_path']}:L{span['start_line']}-L{span['end_line']}]"
        check("the text cites it", any(cited in item.text for item in found.content), cited)

        opened = await client.call_tool(
            "dir2mcp.open_file",
            {"rel_path": hit["rel_path"], "start_line": span["start_line"], "end_line": span["end_line"]},
        )
        check("the cited span opens", not is_error(opened), opened.content)
        content = structured(opened)["content"]
        missing = [line for line in hit["snippet"].strip("…\n ").splitlines() if line.strip("… ") not in content]
        check("the opened text holds the snippet", not missing, f"{missing} not in {content!r}")
        check("the opened text holds the query", options.query in content)

        refused = await client.call_tool("dir2mcp.open_file", {"rel_path": "../outside.txt"})
        code = (structured(refused) or {}).get("error", {}).get("code")
        check("a path outside is refused", is_error(refused) and code == "PATH_OUTSIDE_ROOT", f"{code}")

        bundle = await client.call_tool("repo.build_context_bundle", {"prompt": f"how does {options.query} work?"})
        chosen = (structured(bundle) or {}).get("result", {}).get("selections", [])
        check("a bundle holds the file", bool(chosen) and chosen[0]["path"] == options.path, bundle.content)
        blocked = await client.call_tool("repo.open_file", {"path": "../outside.txt"})
        envelope = structured(blocked) or {}
        check("a blocked call says so", is_error(blocked) and envelope.get("blocked") is True, blocked.content)

        roots = structured(await client.call_tool("listRoots", {}))
        check("the roots are listed", bool(roots["roots"]), json.dumps(roots))
        indexed = structured(await client.call_tool("indexFolder", {"root": roots["roots"][0]}))
        check("a folder is indexed", indexed["mcp_version"] == "v1.0.0" and not indexed["running"], json.dumps(indexed))
        files = structured(await client.call_tool("searchFiles", {"query": options.query, "k": 3}))
        check("the file is found", files["items"] and files["items"][0]["path"].endswith(options.path), json.dumps(files))
        item = files["items"][0]
        preview = structured(await client.call_tool("openFile", {"path": item["path"], "pointer": item["pointer"]}))
        shown, snippet = " ".join(preview["preview"].split()), " ".join(item["snippet"].split())
        check("the preview holds the snippet", snippet in shown, f"{snippet!r} not in {shown!r}")
        summary = await client.call_tool("summarizeResults", {"query": options.query, "results": files["items"]})
        check("the results are summarised", not is_error(summary) and bool(structured(summary)["summary"]), summary.content)
        forbidden = await client.call_tool("openFile", {"path": "/etc/passwd"})
        code = (structured(forbidden) or {}).get("error", {}).get("code")
        check("a file outside the roots is forbidden", is_error(forbidden) and code == "FORBIDDEN", f"{code}")

        print("answer " + json.dumps(answer, sort_keys=True, ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--query", required=True)
    parser.add_argument("--path", required=True)
    parser.add_argument("--era", choices=["legacy", "modern"], default="modern")
    run(parser, drive, timeout=60)


def run(parser, drive, timeout):
    """Drives a server that the arguments name, and exits 1 if a check failed."""
    parser.add_argument("--url")
    parser.add_argument("--token-file")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.headers = {}
    if options.token_file:
        with open(options.token_file, encoding="utf-8") as file:
            options.headers["Authorization"] = f"Bearer {file.read().strip()}"
    try:
        asyncio.run(asyncio.wait_for(drive(options), timeout=timeout))
    except Failed:
        sys.exit(1)
    except BaseExceptionGroup as group:
        # The transports run in task groups, which wrap whatever was raised inside them.
        if group.subgroup(Failed) is None:
            raise
        sys.exit(1)


if __name__ == "__main__":
    main()
