import { describe, expect, test } from "vitest";
import { answerText } from "../../src/console/runs/interrupts/answers.ts";
import {
  answerOf,
  type InterruptRequest,
  interruptsOf,
  optionsOf,
  resumeOf,
} from "../../src/console/runs/interrupts/interrupts.ts";

const stateOf = (...values: unknown[]) => ({
  tasks: [
    { name: "tools", interrupts: values.map((value, index) => ({ id: `i${index}`, value })) },
  ],
});

describe("an interrupt", () => {
  const args = { order_id: "1" };

  test.each([
    [
      "snake",
      "action_requests",
      "review_configs",
      "action_name",
      "allowed_decisions",
      "edited_action",
    ],
    ["camel", "actionRequests", "reviewConfigs", "actionName", "allowedDecisions", "editedAction"],
  ])("of the tools' middleware in %s case is answered in the same case", (...names) => {
    const [, requests, configs, name, allowed, edited] = names;
    const [request] = interruptsOf(
      stateOf({
        [requests]: [
          { name: "refund", args },
          { name: "mail", args: {} },
        ],
        [configs]: [{ [name]: "refund", [allowed]: ["approve", "edit"] }],
      }),
    );
    expect(request?.actions).toMatchObject([
      { name: "refund", args, choices: ["approve", "edit"] },
      { name: "mail", choices: ["approve", "edit", "reject"] },
    ]);
    if (!request) throw new Error("no interrupt");
    const answer = answerOf(request, [
      { type: "edit", args: { order_id: "2" } },
      { type: "reject", message: "no" },
    ]);
    expect(answer).toEqual({
      decisions: [
        { type: "edit", [edited]: { name: "refund", args: { order_id: "2" } } },
        { type: "reject", message: "no" },
      ],
    });
  });

  test("of an agent inbox is answered with a list", () => {
    const config = {
      allow_accept: true,
      allow_edit: true,
      allow_respond: true,
      allow_ignore: false,
    };
    const [request] = interruptsOf(
      stateOf([{ action_request: { action: "refund", args }, config, description: "Why" }]),
    );
    expect(request?.actions).toMatchObject([
      { name: "refund", description: "Why", choices: ["approve", "edit", "respond"] },
    ]);
    if (!request) throw new Error("no interrupt");
    expect(answerOf(request, [{ type: "approve" }])).toEqual([{ type: "accept", args: null }]);
    expect(answerOf(request, [{ type: "edit", args: {} }])).toEqual([
      { type: "edit", args: { action: "refund", args: {} } },
    ]);
    expect(answerOf(request, [{ type: "respond", message: "x" }])).toEqual([
      { type: "response", args: "x" },
    ]);
  });

  test("of any other value has no actions, and its answer names it", () => {
    const open = interruptsOf(stateOf("go?", { question: "go on?" }));
    expect(open.map(({ shape, actions }) => [shape, actions])).toEqual([
      ["plain", []],
      ["plain", []],
    ]);
    const [first, second] = open;
    if (!first || !second) throw new Error("no interrupts");
    expect(resumeOf(second, true)).toEqual({ i1: true });
    expect(resumeOf({ ...first, id: null }, true)).toBe(true);
  });
});

test("a plain question offers its options, each once", () => {
  const optionsIn = (value: unknown) => {
    const [question] = interruptsOf(stateOf(value));
    return question && optionsOf(question);
  };
  expect(optionsIn({ question: "where?", options: ["DE", "AT", "DE", 3] })).toEqual([
    "DE",
    "AT",
    3,
  ]);
  expect(optionsIn({ question: "where?", options: [{ a: 1 }] })).toEqual([]);
  expect(optionsIn("where?")).toEqual([]);
});

const INTERRUPT_ID = "d3c18257a0b1c2d3e4f5061728394a5b";
const refund = { actions: [{ name: "refund_order" }] } as InterruptRequest;

test.each([
  [{ [INTERRUPT_ID]: { decisions: [{ type: "approve" }] } }, "approved refund_order"],
  [
    { [INTERRUPT_ID]: { decisions: [{ type: "reject", message: "too late" }] } },
    "rejected refund_order: “too late”",
  ],
  [{ decisions: [{ type: "approve" }, { type: "reject" }] }, "approved, rejected"],
  [{ decisions: [{ type: "edit", edited_action: { name: "pay", args: {} } }] }, "edited pay"],
  [{ [INTERRUPT_ID]: [{ type: "accept", args: null }] }, "approved refund_order"],
  [[{ type: "response", args: "not now" }], "answered: “not now”"],
  [{ [INTERRUPT_ID]: "yes" }, "answered “yes”"],
  [{ ok: true }, 'answered {"ok":true}'],
  [[{ type: "toString" }], 'answered [{"type":"toString"}]'],
])("the answer %j is shown as %s", (resume, text) => {
  const requests = [{ ...refund, id: INTERRUPT_ID }];
  expect(answerText({ command: { resume } }, requests)).toBe(text);
});

test("a run with an input answers nothing", () => {
  expect(answerText({ input: { resume: 1 } }, [])).toBeNull();
});
