import { type Fields, isFields } from "../../ui/conversation/fields.ts";

type Choice = "approve" | "edit" | "reject" | "respond" | "ignore";

export type InterruptAction = {
  name: string;
  args: unknown;
  description: string | null;
  choices: Choice[];
};

/**
 * Wire shape of the answer: that of LangChain's human-in-the-loop middleware in Python or in JavaScript, that of the
 * agent inbox, or any JSON.
 */
type Shape = "decisions" | "decisions_camel" | "inbox" | "plain";

export type InterruptRequest = {
  /** `null` for interrupts without an id. */
  id: string | null;
  /** Node that waits. */
  node: string;
  value: unknown;
  shape: Shape;
  actions: InterruptAction[];
};

export type Decision =
  | { type: "approve" | "ignore" }
  | { type: "edit"; args: unknown }
  | { type: "reject" | "respond"; message: string };

/** Decisions of the middleware, in the order of the buttons. A request without a configuration allows all of them. */
const MIDDLEWARE_CHOICES: Choice[] = ["approve", "edit", "reject"];

/** Pending interrupts of a state, by the tasks that wait. */
export function interruptsOf(state: { tasks?: unknown; interrupts?: unknown }): InterruptRequest[] {
  const tasks = Array.isArray(state.tasks) ? state.tasks.filter(isFields) : [];
  return tasks.flatMap(({ name, interrupts }) =>
    (Array.isArray(interrupts) ? interrupts : [])
      .filter(isFields)
      .map((interrupt) => readInterrupt(interrupt, String(name ?? ""))),
  );
}

/** Returns the names of the actions that wait, or else that of the node. */
export function titleOf({ actions, node }: InterruptRequest): string {
  return actions.map(({ name }) => name).join(", ") || node || "The agent";
}

const MAX_OPTIONS = 20;

/** Returns the answers that a question offers in its `options`: texts, numbers or booleans. */
export function optionsOf({ value }: InterruptRequest): unknown[] {
  const { options } = isFields(value) ? value : {};
  const isPlain = (option: unknown) => typeof option !== "object";
  if (!Array.isArray(options) || !options.every(isPlain)) return [];
  return [...new Set<unknown>(options)].slice(0, MAX_OPTIONS);
}

function readInterrupt({ id, value }: Fields, node: string): InterruptRequest {
  const [shape, actions] = readActions(value);
  return { id: typeof id === "string" ? id : null, node, value, shape, actions };
}

function readActions(value: unknown): [Shape, InterruptAction[]] {
  const inbox = toInbox(value);
  if (inbox !== null) return ["inbox", [inbox]];
  if (!isFields(value)) return ["plain", []];
  const snake = toDecisions(value.action_requests, value.review_configs);
  if (snake !== null) return ["decisions", snake];
  const camel = toDecisions(value.actionRequests, value.reviewConfigs);
  return camel === null ? ["plain", []] : ["decisions_camel", camel];
}

function toDecisions(requests: unknown, configs: unknown): InterruptAction[] | null {
  if (!Array.isArray(requests) || requests.length === 0 || !requests.every(isFields)) return null;
  const reviews = Array.isArray(configs) ? configs.filter(isFields) : [];
  return requests.map((request) => {
    const name = String(request.name ?? request.action ?? "");
    const config = reviews.find(({ action_name, actionName }) =>
      [action_name, actionName].includes(name),
    );
    const allowed = config?.allowed_decisions ?? config?.allowedDecisions;
    const choices = MIDDLEWARE_CHOICES.filter(
      (each) => !Array.isArray(allowed) || allowed.includes(each),
    );
    const args = request.args ?? request.arguments ?? {};
    return { name, args, description: textOrNull(request.description), choices };
  });
}

const INBOX_CHOICES: [string, Choice][] = [
  ["allow_accept", "approve"],
  ["allow_edit", "edit"],
  ["allow_respond", "respond"],
  ["allow_ignore", "ignore"],
];

function toInbox(value: unknown): InterruptAction | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isFields(first) || !isFields(first.action_request)) return null;
  const { action, args } = first.action_request;
  const config = isFields(first.config) ? first.config : {};
  const choices = INBOX_CHOICES.flatMap(([flag, choice]) => (config[flag] ? [choice] : []));
  return { name: String(action), args, description: textOrNull(first.description), choices };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

/** Returns the answer that the waiting code expects, given a decision for each action. */
export function answerOf({ shape, actions }: InterruptRequest, decisions: Decision[]): unknown {
  const wired = decisions.map((decision, index) => {
    const name = actions[index]?.name ?? "";
    return shape === "inbox" ? toInboxAnswer(decision, name) : toWire(decision, name, shape);
  });
  return shape === "inbox" ? wired : { decisions: wired };
}

function toWire(decision: Decision, name: string, shape: Shape): Fields {
  if (decision.type !== "edit") return decision;
  const edited = { name, args: decision.args };
  const key = shape === "decisions_camel" ? "editedAction" : "edited_action";
  return { type: "edit", [key]: edited };
}

/** Types of answers by decision. An inbox does not offer `reject`. */
const INBOX_TYPES: Record<Choice, string> = {
  approve: "accept",
  edit: "edit",
  respond: "response",
  reject: "response",
  ignore: "ignore",
};

function toInboxAnswer(decision: Decision, action: string): Fields {
  const type = INBOX_TYPES[decision.type];
  if (decision.type === "edit") return { type, args: { action, args: decision.args } };
  return { type, args: "message" in decision ? decision.message : null };
}

/** Returns the value of `resume`. It names the interrupt that the person saw, so that the others stay open. */
export function resumeOf({ id }: InterruptRequest, answer: unknown) {
  return id !== null ? { [id]: answer } : answer;
}
