import { expect, test } from "vitest";
import {
  configurationProblem,
  readRegions,
} from "../../../src/control-plane/workspaces/configuration.ts";

test("regions are names with origins", () => {
  const text = "us=https://us.heddle.test, eu=https://eu.heddle.test:8443/,";
  expect(configurationProblem({ REGIONS: text })).toBeNull();
  expect(readRegions(text)).toEqual([
    { name: "us", url: "https://us.heddle.test" },
    { name: "eu", url: "https://eu.heddle.test:8443" },
  ]);
  expect(readRegions("")).toEqual([]);
});

test.each([
  "us",
  "us=heddle.test",
  "us=https://a.test/path",
  "us=javascript:x",
  "U S=https://a.test",
])("the region %j is refused", (entry) => {
  const problem = configurationProblem({ REGIONS: `eu=https://eu.test,${entry}` });
  expect(problem).toBe(
    `REGIONS: "${entry}" must be a name and an origin, such as eu=https://eu.heddle.example.com.`,
  );
});

test("an issuer needs an audience", () => {
  expect(configurationProblem({ OIDC_ISSUER: "https://a.test" })).toContain("OIDC_AUDIENCE");
  expect(configurationProblem({ OIDC_ISSUER: "https://a.test", OIDC_AUDIENCE: "x" })).toBeNull();
});
