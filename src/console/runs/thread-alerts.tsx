import { useRef, useState } from "react";
import { ApiError } from "../api/errors.ts";
import { useMay } from "../api/session.ts";
import { Icon } from "../ui/icon.tsx";
import { Time } from "../ui/values.tsx";
import { answerText } from "./interrupts/answers.ts";
import { InterruptCard } from "./interrupts/interrupt-card.tsx";
import { type InterruptRequest, resumeOf } from "./interrupts/interrupts.ts";
import { RunFailure } from "./run-failure.tsx";
import type { RunItem } from "./stream/agent.ts";
import { openQuestions, type ThreadView } from "./use-thread.ts";
import type { useThreadActions } from "./use-thread-actions.ts";

type Props = { view: ThreadView; actions: ReturnType<typeof useThreadActions> };

/** Shows the error of the last run, and the questions that wait for a person. */
export function ThreadAlerts({ view, actions }: Props) {
  const mayAnswer = useMay("write");
  const { state, inOrder, stream, isStreaming } = view;
  const failure = isStreaming ? stream.live.error : errorOf(view);
  const open = openQuestions(view);
  const newest = inOrder.at(-1);
  const { isElsewhere, answer } = useAnswers(actions, newest);
  const given = answerText(newest?.kwargs ?? {}, useSeen(open));
  return (
    <>
      {failure !== null && <RunFailure view={view} actions={actions} failure={failure} />}
      {given !== null && (
        <p className="dim sm break-words" role="status">
          A person {given}
        </p>
      )}
      {isElsewhere && (
        <div className="note" role="status">
          <Icon name="status-waiting" />
          <div className="grow">
            <div className="b">Your answer was not taken: the question was answered elsewhere.</div>
            <div className="mid sm mt-1">
              The newest run began <Time at={newest?.created_at ?? null} />. What waits now is
              below.
            </div>
          </div>
        </div>
      )}
      {open.map((request, index) => (
        <InterruptCard
          key={request.id ?? index}
          request={request}
          since={state.data?.created_at ?? null}
          mayAnswer={mayAnswer && newest !== undefined}
          onAnswer={(given) => answer(request, given)}
        />
      ))}
    </>
  );
}

/** Returns the interrupts that this page has shown: the state of a thread does not have the answered ones. */
function useSeen(open: InterruptRequest[]): InterruptRequest[] {
  const seen = useRef(new Map<string, InterruptRequest>());
  for (const request of open) if (request.id !== null) seen.current.set(request.id, request);
  return [...seen.current.values()];
}

/** Answers only if no newer run exists: another person, or another tab, may have answered since this page was drawn. */
function useAnswers({ start }: Props["actions"], newest: RunItem | undefined) {
  const [isElsewhere, setElsewhere] = useState(false);
  const answer = async (request: InterruptRequest, given: unknown) => {
    setElsewhere(false);
    try {
      return await start.mutateAsync({
        assistant_id: newest?.assistant_id ?? "",
        command: { resume: resumeOf(request, given) },
        multitask_strategy: "reject",
        ...(newest && { after_run_id: newest.run_id }),
      });
    } catch (error) {
      setElsewhere(error instanceof ApiError && error.status === 409);
      throw error;
    }
  };
  return { isElsewhere, answer };
}

function errorOf({ thread, inOrder }: ThreadView): string | null {
  const { error } = thread.data ?? {};
  const hasFailed = ["error", "timeout"].includes(inOrder.at(-1)?.status ?? "");
  return hasFailed && error ? `${error.error}: ${error.message}` : null;
}
