import { useMay } from "../api/session.ts";
import { LongText } from "../ui/conversation/long-text.tsx";
import { Icon } from "../ui/icon.tsx";
import { InterruptCard } from "./interrupts/interrupt-card.tsx";
import { interruptsOf, resumeOf } from "./interrupts/interrupts.ts";
import type { ThreadView } from "./use-thread.ts";
import type { useThreadActions } from "./use-thread-actions.ts";

type Props = { view: ThreadView; actions: ReturnType<typeof useThreadActions> };

/** The error of the last run, and the questions that wait for a person. */
export function ThreadAlerts({ view, actions }: Props) {
  const mayAnswer = useMay("write");
  const { state, runs, active, inOrder, stream, isStreaming } = view;
  const failure = isStreaming ? stream.live.error : errorOf(view);
  const isIdle = runs.data !== undefined && active === null && !isStreaming;
  const open = isIdle ? interruptsOf(state.data ?? {}) : [];
  const assistant_id = inOrder.at(-1)?.assistant_id;
  return (
    <>
      {failure !== null && (
        <div className="note err" role="alert">
          <Icon name="status-failed" />
          <div className="grow">
            <div className="b">The run failed.</div>
            <div className="mono sm break-words">
              <LongText text={failure} max={2000} />
            </div>
            <div className="mid sm mt-1">The thread keeps the state of its last checkpoint.</div>
          </div>
        </div>
      )}
      {open.map((request, index) => (
        <InterruptCard
          key={request.id ?? index}
          request={request}
          since={state.data?.created_at ?? null}
          mayAnswer={mayAnswer && assistant_id !== undefined}
          onAnswer={(answer) =>
            actions.start.mutateAsync({
              assistant_id: assistant_id ?? "",
              command: { resume: resumeOf(open, request, answer) },
            })
          }
        />
      ))}
    </>
  );
}

function errorOf({ thread, inOrder }: ThreadView): string | null {
  const { error } = thread.data ?? {};
  const hasFailed = ["error", "timeout"].includes(inOrder.at(-1)?.status ?? "");
  return hasFailed && error ? `${error.error}: ${error.message}` : null;
}
