import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { evaluate } from "./arithmetic.ts";

export const calculate = tool(({ expression }) => String(evaluate(expression)), {
  name: "calculate",
  description: "Evaluates an arithmetic expression with + - * / and parentheses.",
  schema: z.object({ expression: z.string().describe("For example (2 + 3) * 4") }),
});

export const refundOrder = tool(
  ({ order_id, amount }) => `Refunded ${amount.toFixed(2)} for order ${order_id}.`,
  {
    name: "refund_order",
    description: "Pays money back for an order. A person has to approve it first.",
    schema: z.object({ order_id: z.string(), amount: z.number().positive() }),
  },
);

export const tools = [calculate, refundOrder];

/** Tools that wait for a person's approval. */
export const SENSITIVE: ReadonlySet<string> = new Set([refundOrder.name]);
