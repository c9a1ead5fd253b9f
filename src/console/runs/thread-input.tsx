import { useState } from "react";
import { useMay } from "../api/session.ts";
import { Composer } from "../ui/conversation/composer.tsx";
import { messagesOf } from "../ui/conversation/model.ts";
import { formatCount } from "../ui/formats.ts";
import { ErrorState } from "../ui/states.tsx";
import { actOf, DiscardNote } from "./discard-note.tsx";
import { JsonForm } from "./input/json-form.tsx";
import { isActive } from "./stream/run-status.ts";
import type { ThreadView } from "./use-thread.ts";
import type { RunStart, useThreadActions } from "./use-thread-actions.ts";

type Props = {
  view: ThreadView;
  actions: ReturnType<typeof useThreadActions>;
  /** The assistant of the last run, absent before the first one. */
  assistant_id: string | undefined;
  checkpoint_id: string | undefined;
  onStarted: () => void;
};

type Strategy = NonNullable<RunStart["multitask_strategy"]>;

/** Starts the next run: with a message, or with any JSON when the state has no messages. */
export function ThreadInput({ view, actions, assistant_id, checkpoint_id, onStarted }: Props) {
  const mayWrite = useMay("write");
  const [strategy, setStrategy] = useState<Strategy>("enqueue");
  const queued = view.inOrder.filter(isActive).length;
  const { start } = actions;
  if (!mayWrite) return <p className="comp dim sm">Editors and admins send messages.</p>;
  if (assistant_id === undefined) return null;
  const run = async (input: unknown) => {
    const multitask_strategy = queued > 0 ? strategy : "enqueue";
    const request = { assistant_id, input, checkpoint_id, multitask_strategy };
    // `onSuccess` of this call is not called once the page is left.
    await start.mutateAsync(request, { onSuccess: onStarted });
  };
  const isChat = messagesOf(view.values) !== null;
  return (
    <div className="comp">
      {start.error && <ErrorState what="The run did not start" error={start.error} />}
      {isChat && <DiscardNote view={view} />}
      {isChat ? (
        <Composer
          key={view.thread_id}
          draftKey={`thread ${view.thread_id}`}
          buttonText={actOf(view)}
          label={checkpoint_id ? "Write to the agent from this checkpoint" : "Write to the agent"}
          onSend={(content) => run({ messages: [{ role: "user", content }] })}
        >
          {queued > 0 && (
            <StrategySelect queued={queued} strategy={strategy} onChange={setStrategy} />
          )}
        </Composer>
      ) : (
        <JsonForm
          label="Input of the next run, as JSON"
          act="Run"
          initial=""
          isBusy={start.isPending}
          // A failure is shown above.
          onSend={(input) => void run(input).catch(() => {})}
        />
      )}
    </div>
  );
}

type StrategyProps = {
  queued: number;
  strategy: Strategy;
  onChange: (strategy: Strategy) => void;
};

function StrategySelect({ queued, strategy, onChange }: StrategyProps) {
  return (
    <select
      className="in auto bare"
      aria-label="When a run is in progress"
      value={strategy}
      onChange={(event) => onChange(event.target.value as Strategy)}
    >
      <option value="enqueue">After {formatCount(queued, "run")}</option>
      <option value="interrupt">Interrupt the run</option>
      <option value="rollback">Roll the run back</option>
    </select>
  );
}
