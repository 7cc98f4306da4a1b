"""A stand-in for a model's API: it asks an agent to call one tool after the other, and writes down what the agent offered
and what came back.

Speaks as much of Anthropic's Messages and OpenAI's Responses, both streamed, as an agent needs for that.
Usage: model_stub.py CALLS_FILE RECORD_FILE; prints its port on the first line. The calls are a list of pairs: the name that
a tool is published under, and its arguments.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

with open(sys.argv[1], encoding="utf-8") as file:
    CALLS = json.load(file)
RECORD = sys.argv[2]
seen = {"tools": [], "answers": {}}


def wanted(names):
    """The next tool to call: the number of the call, and whatever name the agent gives the tool."""
    for number, (tool, _) in enumerate(CALLS):
        ending = tool.replace(".", "_")
        name = next((name for name in names if name.endswith(ending)), None)
        if name and tool not in seen["answers"]:
            return number, name
    return None


def save():
    with open(RECORD, "w", encoding="utf-8") as file:
        json.dump(seen, file)


def note(names, results):
    """`results` are pairs: the id of a call, which ends with its number, and what came back."""
    seen["tools"] = sorted(set(seen["tools"]) | set(names))
    for identifier, result in results:
        seen["answers"][CALLS[int(identifier.rsplit("_", 1)[1])][0]] = result
    save()


def messages(body):
    """One answer of Anthropic's Messages API, as events."""
    names = [tool["name"] for tool in body.get("tools", [])]
    results = []
    for message in body.get("messages", []):
        if isinstance(message["content"], list):
            parts = [part for part in message["content"] if part.get("type") == "tool_result"]
            results += [(part["tool_use_id"], part) for part in parts]
    note(names, results)
    call = wanted(names)
    if call:
        number, tool = call
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(CALLS[number][1])}
        reason = "tool_use"
    else:
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "stub"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    if not body.get("stream"):
        content = [{"type": "text", "text": "done"}]
        return None, message | {"content": content, "stop_reason": "end_turn"}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ], None


def responses(body):
    """One answer of OpenAI's Responses API, as events."""
    tools = {}
    for tool in body.get("tools", []):
        for inner in tool.get("tools", []):
            tools[tool["name"] + inner["name"]] = (inner["name"], tool["name"])
        if tool.get("name") and not tool.get("tools"):
            tools[tool["name"]] = (tool["name"], None)
    results = [item for item in body.get("input", []) if item.get("type") == "function_call_output"]
    note(list(tools), [(item["call_id"], item) for item in results])
    call = wanted(tools)
    if call:
        number, tool = call
        name, space = tools[tool]
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
                "arguments": json.dumps(CALLS[number][1])}
        if space:
            item["namespace"] = space
    else:
        item = {"type": "message", "id": "m_1", "role": "assistant",
                "content": [{"type": "output_text", "text": "done", "annotations": []}]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}
    return [
        {"type": "response.created", "response": {"id": "r_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r_1", "usage": usage}},
    ], None


class Stub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        if self.path.split("?")[0].endswith("/messages"):
            self.answer(*messages(body))
        elif self.path.split("?")[0].endswith("/responses"):
            self.answer(*responses(body))
        else:
            self.answer(None, {"input_tokens": 1})

    def do_GET(self):
        self.answer(None, {"data": [], "models": []})

    def do_HEAD(self):
        self.answer(None, {})

    def answer(self, events, whole):
        if events is None:
            text, kind = json.dumps(whole), "application/json"
        else:
            text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            kind = "text/event-stream"
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
save()
print(server.server_address[1], flush=True)
server.serve_forever()
