"""Uses the smart tools as an assistant would, with the Python MCP client 2.x, over HTTP and stdio.

The folder holds a thousand notes on a lighthouse, and contracts of several vendors. Prints one `ok` or `fail` line per
check and exits 1 if one failed.

    smart.py --root FOLDER --url URL --token-file FILE
    smart.py --root FOLDER --stdio COMMAND ARG...
"""

import argparse
import asyncio
import os

from drive import check, connect_2, is_error, run, structured

NOTES = 1000


def code(result):
    return (structured(result) or {}).get("error", {}).get("code")


def names(answer):
    return sorted(os.path.basename(item["path"]) for item in answer["items"])


async def drive(options):
    async with connect_2(options) as (client, _):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        wanted = {"listRoots", "indexFolder", "searchFiles", "openFile", "summarizeResults", "rewriteQuery"}
        check("the six tools are listed", tools == wanted, f"{sorted(tools)}")
        roots = structured(await client.call_tool("listRoots", {}))["roots"]
        check("the root is listed", options.root in roots, f"{roots}")

        full = {"root": options.root, "full": True}
        calls = await asyncio.gather(*(client.call_tool("indexFolder", full) for _ in range(3)))
        codes = [code(call) for call in calls]
        check("one of several at once is served", codes.count(None) >= 1, f"{codes}")
        check("another is a conflict", "CONFLICT" in codes, f"{codes}")

        question = {"query": "contracts about vendor X from 2021 in ppt or docx"}
        found = structured(await client.call_tool("searchFiles", question))
        check("just those are found", names(found) == ["scope.pptx", "vendor_x.docx"], f"{names(found)}")
        for item in found["items"]:
            place = {"path": item["path"], "pointer": item["pointer"]}
            shown = " ".join(structured(await client.call_tool("openFile", place))["preview"].split())
            check(f"{item['pointer']} opens", " ".join(item["snippet"].split()) in shown, shown)

        seen = set()
        for offset in range(0, NOTES + 100, 100):
            page = {"query": "lighthouse", "k": 100, "offset": offset}
            answer = structured(await client.call_tool("searchFiles", page))
            check(f"the page at {offset} counts all", answer["pagination"]["total_estimate"] == NOTES)
            seen.update(item["path"] for item in answer["items"])
        check("the pages hold every note once", len(seen) == NOTES, f"{len(seen)}")

        # An HTTP client has sixty searches a minute; whoever started the server has no limit.
        last = None
        for _ in range(61):
            last = await client.call_tool("searchFiles", {"query": "lighthouse", "k": 1})
        if options.stdio:
            check("the parent process has no limit", not is_error(last), f"{last.content}")
        else:
            check("the limit holds", code(last) == "RATE_LIMITED", f"{last.content}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.set_defaults(era="modern")
    run(parser, drive, timeout=120)


if __name__ == "__main__":
    main()
