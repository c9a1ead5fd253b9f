import { beforeAll, describe, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import {
  hexId,
  JSON_TYPE,
  PROTOBUF,
  runsByName,
  sendSpans,
  type TestSpan,
  toJson,
  toProtobuf,
} from "./support/otlp.ts";
import { projectId, read } from "./support/runs.ts";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

function uuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Returns a root with a model call and a tool below it. */
function smallTrace(trace = hexId(16)): TestSpan[] {
  const [root, model, tool] = [hexId(8), hexId(8), hexId(8)];
  const start_ms = Date.now() - 5000;
  return [
    { trace, id: root, name: "agent", start_ms, end_ms: start_ms + 3000 },
    {
      trace,
      id: model,
      parent: root,
      name: "chat small",
      start_ms: start_ms + 100,
      end_ms: start_ms + 900,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "langsmith.metadata.user_id": "u1",
      },
    },
    {
      trace,
      id: tool,
      parent: model,
      name: "search",
      start_ms: start_ms + 200,
      end_ms: start_ms + 300,
      attributes: { "gen_ai.tool.name": "search" },
    },
  ];
}

describe("OTLP", () => {
  test.for([JSON_TYPE, PROTOBUF])("stores spans as one tree of runs from %s", async (type) => {
    const spans = smallTrace();
    const project = `tree-${type}`;
    const body = type === PROTOBUF ? toProtobuf(spans) : toJson(spans);
    const answer = await sendSpans(body, { key: ours.editor, type, project });
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, type]);
    expect(Buffer.from(await answer.bytes()).toString()).toBe(type === PROTOBUF ? "" : "{}");
    const runs = await runsByName(ours.viewer, (await projectId(ours.viewer, project)) ?? "");
    const trace_id = uuid(spans[0]?.trace ?? "");
    expect(runs.get("agent")).toMatchObject({
      id: trace_id,
      trace_id,
      is_root: true,
      run_type: "chain",
      status: "success",
      total_tokens: 17,
    });
    expect(runs.get("chat small")).toMatchObject({
      trace_id,
      parent_run_id: trace_id,
      run_type: "llm",
      prompt_tokens: 12,
      completion_tokens: 5,
      extra: {
        metadata: { user_id: "u1", ls_model_name: "small" },
        invocation_params: { model: "small" },
      },
    });
    expect(runs.get("search")).toMatchObject({
      parent_run_ids: [trace_id, runs.get("chat small")?.id],
      run_type: "tool",
    });
    expect(await read(ours.viewer, trace_id)).toMatchObject({
      child_run_ids: [runs.get("chat small")?.id, runs.get("search")?.id],
    });
  });

  test("is served at the paths of LangSmith's endpoints", async () => {
    const paths = ["/otel/v1/traces", "/api/v1/otel/v1/traces", "/api/otel/v1/traces", "/otel"];
    for (const path of paths) {
      const spans = smallTrace();
      const answer = await sendSpans(
        toProtobuf(spans),
        { key: ours.editor, project: "paths" },
        path,
      );
      expect([path, answer.status]).toEqual([path, 200]);
      const line = await api(`/api/v2/traces/${uuid(spans[0]?.trace ?? "")}/runs`, {
        key: ours.viewer,
      });
      expect((await line.text()).trim().split("\n")).toHaveLength(4);
    }
  });
});
