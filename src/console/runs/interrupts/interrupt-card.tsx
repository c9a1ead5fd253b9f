import { useState } from "react";
import { toJson } from "../../ui/conversation/fields.ts";
import { LongText } from "../../ui/conversation/long-text.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { JsonForm } from "../input/json-form.tsx";
import { Arguments } from "./arguments.tsx";
import { DecisionForm } from "./decision-form.tsx";
import {
  answerOf,
  type Decision,
  type InterruptRequest,
  optionsOf,
  titleOf,
} from "./interrupts.ts";
import { TextAnswer } from "./text-answer.tsx";

type Props = {
  request: InterruptRequest;
  /** Time at which the thread was interrupted. */
  since: string | null;
  mayAnswer: boolean;
  onAnswer: (answer: unknown) => Promise<unknown>;
};

/** A question of the agent, with the controls that answer it. An answer cannot be undone. */
export function InterruptCard({ request, since, mayAnswer, onAnswer }: Props) {
  const answer = useAnswer(onAnswer);
  const title = titleOf(request);
  return (
    <article className="ask" aria-label={`${title} waits for a person`}>
      <header>
        <Icon name="status-waiting" />
        <span className="cut">{title} waits for you</span>
        <span className="push sm nw m">
          <Time at={since} />
        </span>
      </header>
      <Body request={request} />
      {answer.error && (
        <div className="in-p">
          <ErrorState what="The answer was not accepted" error={answer.error} />
        </div>
      )}
      {mayAnswer ? (
        <Answer request={request} isBusy={answer.isBusy} send={answer.send} />
      ) : (
        <div className="ft dim sm">Editors and admins answer.</div>
      )}
    </article>
  );
}

/** Stays busy after an answer was accepted: the next read of the thread removes the card. */
function useAnswer(onAnswer: Props["onAnswer"]) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const send = (answer: unknown) => {
    setBusy(true);
    setError(null);
    onAnswer(answer).catch((failure: Error) => {
      setError(failure);
      setBusy(false);
    });
  };
  return { isBusy, error, send };
}

function Body({ request: { value, actions } }: { request: InterruptRequest }) {
  if (actions.length === 0) {
    return (
      <div className="bd">
        {typeof value === "string" ? (
          <p className="break-words">
            <LongText text={value} />
          </p>
        ) : (
          <Arguments args={value} />
        )}
      </div>
    );
  }
  return (
    <div className="bd grid gap-3">
      {actions.map(({ name, args, description }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: actions keep their order, and names repeat
        <div key={index} className="grid gap-2">
          {actions.length > 1 && <h3 className="mono">{name}</h3>}
          {description !== null && (
            <p className="break-words">
              <LongText text={description} />
            </p>
          )}
          <Arguments args={args} />
        </div>
      ))}
    </div>
  );
}

type AnswerProps = {
  request: InterruptRequest;
  isBusy: boolean;
  send: (answer: unknown) => void;
};

function Answer({ request, isBusy, send }: AnswerProps) {
  const [isJson, setJson] = useState(false);
  const form = { isBusy, onJson: () => setJson(true) };
  const decide = (decisions: Decision[]) => send(answerOf(request, decisions));
  return (
    <>
      {isJson && (
        <JsonForm
          label="Answer as JSON"
          act="Answer"
          placeholder={'"yes", or {"approved": true}'}
          initial={request.actions.length === 0 ? "" : exampleOf(request)}
          isBusy={isBusy}
          onSend={send}
          onBack={() => setJson(false)}
        />
      )}
      {/* Keeps what was typed and decided. */}
      <div hidden={isJson}>
        {request.actions.length === 0 ? (
          <TextAnswer options={optionsOf(request)} onSend={send} {...form} />
        ) : (
          <DecisionForm actions={request.actions} onDecide={decide} {...form} />
        )}
      </div>
    </>
  );
}

function exampleOf(request: InterruptRequest): string {
  const decisions = request.actions.map((): Decision => ({ type: "approve" }));
  return toJson(answerOf(request, decisions), 2);
}
