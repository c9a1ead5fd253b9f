import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useMay } from "../../api/session.ts";
import { actOf, DiscardNote } from "../../runs/discard-note.tsx";
import { InputForm } from "../../runs/input/input-form.tsx";
import { isChatSchema } from "../../runs/input/input-schema.ts";
import { isActive } from "../../runs/stream/run-status.ts";
import type { ThreadView } from "../../runs/use-thread.ts";
import type { useThreadActions } from "../../runs/use-thread-actions.ts";
import { InlineError } from "../../ui/blocks/inline-error.tsx";
import { Composer } from "../../ui/conversation/composer.tsx";
import { messagesOf } from "../../ui/conversation/model.ts";
import { formatCount } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { type Target, useSchemas } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

type Props = {
  target: Target;
  assistant: Assistant;
  view: ThreadView;
  actions: ReturnType<typeof useThreadActions>;
  thread_id: string;
};

/** Starts a run: with a message when the graph has messages, else with the fields of its input. */
export function PlaygroundInput({ target, assistant, view, actions, thread_id }: Props) {
  const mayWrite = useMay("write");
  const navigate = route.useNavigate();
  const schemas = useSchemas(target.ref, assistant.assistant_id);
  const { start } = actions;
  if (!mayWrite) return <p className="comp dim sm">Editors and admins start runs.</p>;
  if (schemas.isPending) return null;
  const schema = schemas.data?.input_schema ?? null;
  const isChat = isChatSchema(schema) || messagesOf(view.values)?.length;
  const run = async (input: unknown) => {
    const { assistant_id } = assistant;
    const request = { assistant_id, input, if_not_exists: "create" } as const;
    const onSuccess = () =>
      void navigate({ search: (former) => ({ ...former, thread: thread_id }) });
    await start.mutateAsync(request, { onSuccess });
  };
  const waiting = view.inOrder.filter(isActive).length - 1;
  const stop = view.active && <StopButton run_id={view.active.run_id} actions={actions} />;
  return (
    <div className="comp">
      {start.error && <ErrorState what="The run did not start" error={start.error} />}
      {isChat && <DiscardNote view={view} />}
      {isChat ? (
        <Composer
          key={target.deployment}
          draftKey={`playground ${target.deployment}`}
          buttonText={actOf(view)}
          label="Write to the agent"
          onSend={(content) => run({ messages: [{ role: "user", content }] })}
          end={stop}
        >
          {waiting > 0 && (
            <span className="sm dim" role="status">
              {formatCount(waiting, "run")} waiting
            </span>
          )}
        </Composer>
      ) : (
        <InputForm
          key={assistant.assistant_id}
          draftKey={`${target.deployment} ${assistant.assistant_id}`}
          schema={schema}
          isBusy={start.isPending || view.active !== null}
          end={stop}
          onSend={(input) => void run(input).catch(() => {})}
        />
      )}
    </div>
  );
}

type StopProps = { run_id: string; actions: Props["actions"] };

/** Ends the run and keeps its checkpoints. Esc does the same. */
function StopButton({ run_id, actions: { cancel } }: StopProps) {
  const stop = () => cancel.mutate({ run_id, action: "interrupt" });
  const latest = useRef(stop);
  latest.current = stop;
  useEffect(() => {
    const onKey = ({ key, defaultPrevented, isComposing, target }: KeyboardEvent) => {
      // A dialog on top takes the key, and so does a search field.
      const isCovered = document.querySelector("dialog[open], :popover-open") !== null;
      const isTaken = defaultPrevented || isComposing || target instanceof HTMLInputElement;
      if (key === "Escape" && !isTaken && !isCovered) latest.current();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <InlineError error={cancel.error} />
      <button type="button" className="btn sm danger" disabled={cancel.isPending} onClick={stop}>
        <Icon name="stop" small /> {cancel.isPending ? "Stopping" : "Stop"}
      </button>
    </>
  );
}
