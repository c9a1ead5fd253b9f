// The types of a contract as `npm run contract` froze them, against those of today. An error of tsc here is a change
// that needs a new CONTRACT; then `Frozen` becomes the new frozen file.
import { expectTypeOf, test } from "vitest";
import type { AgentEntrypoint, Host } from "../../../src/isolate/contract.ts";
import type { AgentProps, TcpEgress } from "../../../src/isolate/environment-contract.ts";
import type * as Contract1 from "../../fixtures/artifacts/contract-1.ts";
import type * as Frozen from "../../fixtures/artifacts/contract-2.ts";

/**
 * Names the methods that a caller of `Used` cannot call on `Given`. Each is compared alone: tsc compares the arguments
 * of the methods of two interfaces in both directions.
 */
type Misfits<Used, Given> = {
  [K in keyof Used]: K extends keyof Given ? MisfitOf<K, Used[K], Given[K]> : K;
}[keyof Used];
/** `Given` takes the arguments of `Used` or more, and returns its result or less. */
type MisfitOf<K, Used, Given> = Used extends (...args: infer UsedArgs) => infer UsedResult
  ? Given extends (...args: infer GivenArgs) => infer GivenResult
    ? [UsedArgs, GivenResult] extends [GivenArgs, UsedResult]
      ? never
      : K
    : K
  : never;

test("a Worker of the frozen contract runs an agent that is built today, as after a rollback", () => {
  expectTypeOf<Misfits<Frozen.AgentEntrypoint, AgentEntrypoint>>().toBeNever();
  expectTypeOf<Misfits<Host, Frozen.Host>>().toBeNever();
  expectTypeOf<Misfits<TcpEgress, Frozen.TcpEgress>>().toBeNever();
  expectTypeOf<Frozen.AgentProps>().toExtend<AgentProps>();
});

test("the Worker of today runs an agent of the frozen contract, as after an upgrade", () => {
  expectTypeOf<Misfits<AgentEntrypoint, Frozen.AgentEntrypoint>>().toBeNever();
  expectTypeOf<Misfits<Frozen.Host, Host>>().toBeNever();
  expectTypeOf<Misfits<Frozen.TcpEgress, TcpEgress>>().toBeNever();
  expectTypeOf<AgentProps>().toExtend<Frozen.AgentProps>();
});

test("the comparison of contracts names a method whose arguments have changed", () => {
  expectTypeOf<Misfits<Contract1.Host, Host>>().toEqualTypeOf<"commit">();
});
