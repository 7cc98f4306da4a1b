"""Reads a server's `/metrics` with the parser of Prometheus' own client package, and looks for what it must hold.

    metrics.py URL
"""

import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

WANTED = {
    "dir2mcp_build_info": "gauge",
    "dir2mcp_tool_calls": "counter",
    "dir2mcp_tool_call_seconds": "histogram",
    "dir2mcp_documents": "gauge",
    "dir2mcp_chunks": "gauge",
    "dir2mcp_indexing_running": "gauge",
}


def main():
    page = urllib.request.urlopen(sys.argv[1], timeout=10).read().decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    for name, kind in WANTED.items():
        family = families.get(name)
        if family is None or family.type != kind or not family.samples:
            sys.exit(f"{name} ({kind}) is not there: {page}")
    calls = sum(sample.value for sample in families["dir2mcp_tool_calls"].samples)
    print(f"{len(families)} families, {calls:.0f} calls")


main()
