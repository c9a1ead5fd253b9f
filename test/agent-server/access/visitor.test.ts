import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import {
  resolveCallerBehindApp,
  resolveVisitor,
} from "../../../src/agent-server/access/visitor.ts";
import { failD1 } from "../../support/outage.ts";
import { workspace } from "../../support/workspace.ts";

test("a visitor of an app whose key could not be checked learns behind the app when to try again", async () => {
  const { viewer } = await workspace();
  const endOutage = failD1();
  const headers = new Headers({ "X-Api-Key": viewer });
  const visitor = await resolveVisitor(env, headers, null).finally(endOutage);
  const received = structuredClone(visitor);
  await expect(resolveCallerBehindApp(env, new Headers(), received)).rejects.toMatchObject({
    code: "unavailable",
    retry_after_seconds: expect.any(Number),
  });
});
