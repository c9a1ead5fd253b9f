import type { StoredItem } from "../../../isolate/store-contract.ts";
import type { FoundItem } from "./items.ts";

/** Characters that an answer may still have. */
export type AnswerRoom = { bytes: number };

/** The result exceeds the limit of an RPC message. */
export class AnswerTooLarge extends Error {}

export function takeRoom(item: FoundItem, room: AnswerRoom): FoundItem {
  room.bytes -= item.value.length;
  if (room.bytes < 0) throw new AnswerTooLarge();
  return item;
}

export function withoutId({ id: _, ...item }: FoundItem): StoredItem {
  return item;
}
