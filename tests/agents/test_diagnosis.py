"""How many calls and tokens an agent needs to say what holds a sample's candidate back, and where.

A scripted agent asks through the SDK's own client: it lists the run, compares, asks for the
findings, and follows the tools that the most important of them name. Tokens are counted by
`CHARACTERS_PER_TOKEN`, arguments and answers together: no tokenizer of an agent's model is at hand
without a network.
"""

import json
from pathlib import Path

import anyio
import pytest
from mcp.client import Client

from profiler_core.agents.answer import CHARACTERS_PER_TOKEN
from profiler_core.agents.serve import server

ROOT = Path(__file__).resolve().parents[2]
# "In under 6 calls and 4 000 tokens", with room for a longer path and a further finding.
MOST_CALLS, MOST_TOKENS = 5, 3_650
SAMPLES = sorted(path.name for path in (ROOT / "sample_traces").iterdir() if path.is_dir())


class Agent:
    """Asks, and counts what it asked and read."""

    def __init__(self, client):
        self.client, self.calls, self.characters = client, [], 0

    async def ask(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert not result.is_error, content.text
        self.calls.append(tool)
        self.characters += len(tool) + len(json.dumps(arguments)) + len(content.text)
        return json.loads(content.text)


async def diagnosed(sample):
    """(agent, answers by tool) for each candidate of the sample."""
    results = []
    async with Client(server()) as client:
        listed = Agent(client)
        (capture,) = (await listed.ask("list_runs", contains=f"sample/{sample}", limit=1))["rows"]
        for run in capture["candidates"]:
            agent = Agent(client)
            agent.calls, agent.characters = list(listed.calls), listed.characters
            pair = {"baseline": capture["baseline"]["id"], "candidate": run["id"]}
            answers = {"compare": await agent.ask("compare", **pair)}
            answers["findings"] = await agent.ask("findings", **pair)
            for finding in answers["findings"]["findings"]:
                tool = finding["tool"]
                if tool not in answers and len(agent.calls) < MOST_CALLS:
                    arguments = pair if tool == "fusion_groups" else {"run": run["id"]}
                    answers[tool] = await agent.ask(tool, **arguments)
            results.append((run["id"], agent, answers))
    return results


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.usefixtures("home_with_columns")
def test_a_diagnosis_takes_few_calls_and_few_tokens(sample, record_property):
    for run, agent, answers in anyio.run(diagnosed, sample):
        tokens = agent.characters / CHARACTERS_PER_TOKEN
        record_property(run, f"{len(agent.calls)} calls, {tokens:.0f} tokens: {agent.calls}")
        print(run, len(agent.calls), round(tokens), agent.calls)
        assert len(agent.calls) <= MOST_CALLS, run
        assert tokens < MOST_TOKENS, (run, agent.calls)
        _is_a_diagnosis(answers)


def _is_a_diagnosis(answers):
    """Verdict, what to change for each finding, and where: whole paths with lines."""
    (compared,) = answers["compare"]["candidates"]
    assert compared["verdict"]["headline"]
    for finding in answers["findings"]["findings"]:
        assert finding["evidence"] and finding["advice"] and finding["tool"]
        assert all(Path(line["file"]).is_absolute() for line in finding["locations"])
        if finding["key"] in ("graph_breaks", "recompiles"):
            assert finding["locations"]
    for row in answers.get("graph_breaks", {"rows": ()})["rows"]:
        assert row["hints"] or row["remedy"]
        assert row["user_place"]["line"]
