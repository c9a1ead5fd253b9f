import { expect, test } from "vitest";
import {
  harnessOf,
  lacksZodSchema,
} from "../../../src/control-plane/builds/bundle/langgraph-versions.ts";
import type { Dependencies } from "../../../src/control-plane/builds/packages/dependencies.ts";
import { HARNESS } from "../../../src/control-plane/builds/packages/embedded.ts";

function langgraphAt(version: string): Dependencies {
  const langgraph = "/node_modules/@langchain/langgraph";
  return { langgraph, install: { packages: new Map([[langgraph, { version }]]) } } as never;
}

test("LangGraph from the address of a tarball runs as the newest version", () => {
  const dependencies = langgraphAt("https://registry.test/langgraph/-/langgraph-1.0.0.tgz");
  expect(harnessOf(dependencies)).toBe(HARNESS.langgraph_agent);
  expect(lacksZodSchema(dependencies)).toBe(false);
});

test("LangGraph before 0.2.20 has another harness", () => {
  expect(harnessOf(langgraphAt("0.2.19"))).toBe(HARNESS.early_langgraph_agent);
});
