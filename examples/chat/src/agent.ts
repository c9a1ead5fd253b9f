import { type AIMessage, isAIMessage, ToolMessage } from "@langchain/core/messages";
import {
  Command,
  END,
  interrupt,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { chooseModel } from "./model.ts";
import { SENSITIVE, tools } from "./tools.ts";

const State = new StateSchema({ messages: MessagesValue });

type Messages = typeof State.State;

/** The answer to the interrupt, in the form of LangChain's human-in-the-loop middleware. */
type Review = { decisions: { type: "approve" | "reject"; message?: string }[] };

async function callModel({ messages }: Messages) {
  return { messages: [await chooseModel().bindTools(tools).invoke(messages)] };
}

function chooseNext(state: Messages): "approve" | "tools" | typeof END {
  const calls = lastCalls(state);
  if (calls.length === 0) return END;
  return calls.some(({ name }) => SENSITIVE.has(name)) ? "approve" : "tools";
}

/** A separate node, because a node starts again from its beginning when the answer comes. */
function approve(state: Messages) {
  const calls = lastCalls(state);
  const { decisions }: Review = interrupt({
    action_requests: calls.map(({ name, args }) => ({
      name,
      args,
      description: "May the agent do this?",
    })),
    review_configs: calls.map(({ name }) => ({
      action_name: name,
      allowed_decisions: ["approve", "reject"],
    })),
  });
  const refusal = decisions.find(({ type }) => type !== "approve");
  if (!refusal) return new Command({ goto: "tools" });
  const content = `A person refused: ${refusal.message || "no reason given"}`;
  const messages = calls.map(
    ({ id = "", name }) => new ToolMessage({ content, name, tool_call_id: id }),
  );
  return new Command({ goto: "model", update: { messages } });
}

function lastCalls({ messages }: Messages): NonNullable<AIMessage["tool_calls"]> {
  const last = messages.at(-1);
  return last && isAIMessage(last) ? (last.tool_calls ?? []) : [];
}

export const agent = new StateGraph(State)
  .addNode("model", callModel)
  .addNode("approve", approve, { ends: ["tools", "model"] })
  .addNode("tools", new ToolNode(tools))
  .addEdge(START, "model")
  .addConditionalEdges("model", chooseNext, ["approve", "tools", END])
  .addEdge("tools", "model")
  .compile();
