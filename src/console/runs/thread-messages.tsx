import type { ReactNode } from "react";
import { Conversation } from "../ui/conversation/conversation.tsx";
import { isFields } from "../ui/conversation/fields.ts";
import { idOf, messagesOf, toConversation } from "../ui/conversation/model.ts";
import { JsonView } from "../ui/json-view/json-view.tsx";
import { withStreamed } from "./stream/live-run.ts";
import type { ThreadView } from "./use-thread.ts";

type Props = {
  view: ThreadView;
  agent: string;
  /** Values at a chosen checkpoint, absent for the current state. */
  at?: unknown;
  /** Shown when the thread has nothing yet. */
  empty: ReactNode;
};

/** A conversation when the state has messages, else the state. */
export function ThreadMessages({ view, agent, at, empty }: Props) {
  const all = messagesNow(view);
  if (at !== undefined)
    return <MessagesAt values={at} all={all ?? []} agent={agent} empty={empty} />;
  if (all === null) return <PlainState values={view.values} empty={empty} />;
  if (all.length === 0) return empty;
  const hasUnsaved = all.length > (messagesOf(view.values)?.length ?? 0);
  return (
    <>
      <Conversation
        messages={toConversation(all)}
        agent={agent}
        isWriting={view.isStreaming && hasUnsaved}
      />
      {hasUnsaved && !view.isStreaming && (
        <p className="dim sm">
          The run was stopped here. The thread does not keep the last message.
        </p>
      )}
    </>
  );
}

type AtProps = { values: unknown; all: unknown[]; agent: string; empty: ReactNode };

function MessagesAt({ values, all, agent, empty }: AtProps) {
  const messages = messagesOf(values);
  if (messages === null) return <PlainState values={values} empty={empty} />;
  return <Conversation agent={agent} {...withLater(messages, all)} />;
}

/** Whether the last run was stopped while this page followed it: its stream may have text that no step has stored. */
function isStopped({ active, inOrder, stream }: ThreadView): boolean {
  const last = inOrder.at(-1);
  return active === null && last?.status === "interrupted" && last.run_id === stream.run_id;
}

/** @returns the messages of the state and those being written, `null` when the state has none */
function messagesNow(view: ThreadView): unknown[] | null {
  const { values, isStreaming, stream } = view;
  const messages = messagesOf(values);
  if (!isStreaming && !isStopped(view)) return messages;
  if (messages === null && stream.live.streamed.size === 0) return null;
  return withStreamed(messages ?? [], stream.live);
}

/**
 * Returns the messages of a checkpoint, and then the later ones, unless the current state is on another branch.
 * `until` is the number of messages of the checkpoint.
 */
function withLater(chosen: unknown[], all: unknown[]) {
  const ids = new Set(chosen.map(idOf));
  const isSameBranch = chosen.every((message, n) => idOf(message) === idOf(all[n]));
  const later = isSameBranch
    ? all.slice(chosen.length).filter((message) => !ids.has(idOf(message)))
    : [];
  const until = toConversation(chosen).length;
  return { messages: toConversation([...chosen, ...later]), until };
}

function PlainState({ values, empty }: { values: unknown; empty: ReactNode }) {
  if (values === undefined || values === null) return empty;
  if (isFields(values) && Object.keys(values).length === 0) return empty;
  return <JsonView label="State" value={values} maxHeight={STATE_PX} />;
}

const STATE_PX = 560;
