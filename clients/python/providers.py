"""The providers' own client packages against our stand-in servers, so that the stand-ins are honest.

    providers.py --mistral URL KEY --elevenlabs URL KEY --openai URL KEY --cohere URL KEY

The stand-ins say "The lamp was lit at six." to every picture and recording, and "The keeper is Ada." to every question.
Prints a line for each check, and fails at the first that does not hold.
"""

import argparse
import base64
import io
import struct

import cohere
import elevenlabs
import openai
from elevenlabs.client import ElevenLabs
from mistralai.client import Mistral
from mistralai.client.errors import SDKError

SENTENCE = "The lamp was lit at six."
ANSWER = "The keeper is Ada."
SCHEMA = {"type": "object", "properties": {"keeper": {"type": "string"}}, "required": ["keeper"]}


def recording(seconds):
    samples = b"\0\0" * 16000 * seconds
    head = struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVEfmt ", 16, 1, 1, 16000, 32000, 2, 16, b"data", len(samples))
    return head + samples


def check(what, holds):
    if not holds:
        raise SystemExit(f"fail {what}")
    print(f"ok {what}")


def near(one, other):
    return sum(a * b for a, b in zip(one, other))


def mistral(url, key):
    client = Mistral(api_key=key, server_url=url)
    made = client.embeddings.create(model="mistral-embed", inputs=["a lamp", "the lamp", "tax"])
    vectors = [item.embedding for item in made.data]
    check("mistral: embeddings", len(vectors[0]) == 1024 and near(vectors[0], vectors[1]) > near(vectors[0], vectors[2]))
    made = client.embeddings.create(model="codestral-embed", inputs=["fn main"], output_dimension=256)
    check("mistral: embeddings of a chosen length", len(made.data[0].embedding) == 256)
    question = [{"role": "user", "content": "Who is the keeper?"}]
    said = client.chat.complete(model="mistral-small-latest", messages=question)
    check("mistral: chat", said.choices[0].message.content == ANSWER and said.usage.prompt_tokens > 0)
    said = client.chat.complete(
        model="mistral-small-latest",
        messages=question,
        response_format={"type": "json_schema", "json_schema": {"name": "keeper", "schema_definition": SCHEMA, "strict": True}},
    )
    check("mistral: chat with a schema", said.choices[0].finish_reason == "stop")
    with client.chat.stream(model="mistral-small-latest", messages=question) as events:
        chunks = [event.data for event in events]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    check("mistral: chat, streamed", text == ANSWER and chunks[-1].usage.completion_tokens > 0)
    document = "data:application/pdf;base64," + base64.b64encode(b"%PDF-fixture").decode()
    read = client.ocr.process(
        model="mistral-ocr-latest",
        document={"type": "document_url", "document_url": document},
        pages=[2, 5],
        confidence_scores_granularity="page",
    )
    check("mistral: OCR of a PDF", [page.index for page in read.pages] == [2, 5] and read.pages[0].markdown == SENTENCE)
    check("mistral: OCR with blocks and confidence", read.pages[0].blocks[0].content == SENTENCE and read.usage_info.pages_processed == 2)
    picture = "data:image/png;base64," + base64.b64encode(b"a picture").decode()
    read = client.ocr.process(model="mistral-ocr-latest", document={"type": "image_url", "image_url": picture})
    check("mistral: OCR of a picture", len(read.pages) == 1 and read.pages[0].dimensions.width > 0)
    heard = client.audio.transcriptions.complete(
        model="voxtral-mini-latest",
        file={"file_name": "x.wav", "content": recording(3)},
        timestamp_granularities=["segment"],
    )
    check("mistral: transcription", heard.text == SENTENCE and heard.segments[0].end == 2.5)
    check("mistral: models", "mistral-embed" in [model.id for model in client.models.list().data])
    try:
        Mistral(api_key="fixture-wrong", server_url=url).embeddings.create(model="mistral-embed", inputs=["x"])
        check("mistral: a wrong key", False)
    except SDKError as error:
        check("mistral: a wrong key", error.status_code == 401)


def eleven(url, key):
    client = ElevenLabs(api_key=key, base_url=url)
    heard = client.speech_to_text.convert(model_id="scribe_v2", file=io.BytesIO(recording(3)), timestamps_granularity="word")
    words = [word.text for word in heard.words if word.type == "word"]
    check("elevenlabs: transcription", heard.text == SENTENCE and words == SENTENCE.split())
    sound = b"".join(client.text_to_speech.convert(voice_id="voice", text="Hello.", model_id="eleven_multilingual_v2"))
    check("elevenlabs: speech", sound[:2] == b"\xff\xfb")
    sound = b"".join(client.text_to_speech.convert(voice_id="voice", text="Hello.", output_format="wav_24000"))
    check("elevenlabs: speech as WAV", sound[:4] == b"RIFF")
    try:
        ElevenLabs(api_key="fixture-wrong", base_url=url).models.list()
        check("elevenlabs: a wrong key", False)
    except elevenlabs.core.ApiError as error:
        check("elevenlabs: a wrong key", error.status_code == 401)


def open_ai(url, key):
    client = openai.OpenAI(api_key=key, base_url=url, max_retries=0)
    made = client.embeddings.create(model="text-embedding-3-small", input=["a lamp", "the lamp", "tax"])
    vectors = [item.embedding for item in made.data]
    check("openai: embeddings in base64", len(vectors[0]) == 1536 and near(vectors[0], vectors[1]) > near(vectors[0], vectors[2]))
    made = client.embeddings.create(model="text-embedding-3-small", input="x", encoding_format="float", dimensions=64)
    check("openai: embeddings as numbers", len(made.data[0].embedding) == 64)
    question = [{"role": "user", "content": "Who is the keeper?"}]
    said = client.chat.completions.create(model="gpt-4o-mini", messages=question)
    check("openai: chat", said.choices[0].message.content == ANSWER)
    options = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="gpt-4o-mini", messages=question, stream=True, stream_options=options))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check("openai: chat, streamed", text == ANSWER and chunks[-1].usage.total_tokens > 0)
    heard = client.audio.transcriptions.create(
        model="whisper-1", file=("x.wav", recording(3)), response_format="verbose_json", timestamp_granularities=["segment"]
    )
    check("openai: transcription", heard.text == SENTENCE and heard.segments[0].end == 2.5 and heard.duration == 3.0)
    sound = client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.", response_format="wav").content
    check("openai: speech", sound[:4] == b"RIFF")
    check("openai: models", "whisper-1" in [model.id for model in client.models.list()])
    try:
        openai.OpenAI(api_key="fixture-wrong", base_url=url).models.list()
        check("openai: a wrong key", False)
    except openai.AuthenticationError:
        check("openai: a wrong key", True)


def rerank(url, key):
    documents = ["tax returns", "the keeper of the lighthouse", "a lighthouse"]
    for name, client in [("v2", cohere.ClientV2(api_key=key, base_url=url)), ("v1", cohere.Client(api_key=key, base_url=url))]:
        found = client.rerank(model="rerank-v3.5", query="lighthouse keeper", documents=documents, top_n=2)
        check(f"cohere: rerank by the {name} client", [result.index for result in found.results] == [1, 2])
    try:
        cohere.ClientV2(api_key="fixture-wrong", base_url=url).rerank(model="m", query="x", documents=["x"])
        check("cohere: a wrong key", False)
    except cohere.UnauthorizedError:
        check("cohere: a wrong key", True)


def main():
    parser = argparse.ArgumentParser()
    services = {"mistral": mistral, "elevenlabs": eleven, "openai": open_ai, "cohere": rerank}
    for name in services:
        parser.add_argument(f"--{name}", nargs=2, metavar=("URL", "KEY"), required=True)
    arguments = vars(parser.parse_args())
    for name, drive in services.items():
        drive(*arguments[name])


if __name__ == "__main__":
    main()
