import { useState } from "react";
import { toJson } from "../../ui/conversation/fields.ts";
import { TextAreaField } from "../../ui/form/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { JsonForm } from "../input/json-form.tsx";
import type { Decision, InterruptAction } from "./interrupts.ts";

type Props = {
  actions: InterruptAction[];
  isBusy: boolean;
  onDecide: (decisions: Decision[]) => void;
  onJson: () => void;
};

/**
 * Sends a decision on one action immediately. Decisions on several actions are made one after the other and sent
 * together.
 */
export function DecisionForm({ actions, isBusy, onDecide, onJson }: Props) {
  const [decided, setDecided] = useState<Decision[]>([]);
  const action = actions[decided.length];
  const decide = (decision: Decision) => {
    const all = [...decided, decision];
    setDecided(all);
    if (all.length === actions.length) onDecide(all);
  };
  if (action === undefined) {
    return (
      <div className="ft">
        <span className="live row" role="status">
          <Icon name="status-running" className="spin" /> {isBusy ? "Sending" : "Not sent"}
        </span>
        {!isBusy && (
          <button type="button" className="btn push" onClick={() => setDecided([])}>
            Decide again
          </button>
        )}
      </div>
    );
  }
  return (
    <>
      {actions.length > 1 && (
        <p className="in-p sm dim row">
          Action {decided.length + 1} of {actions.length}: {action.name}
          {decided.length > 0 && (
            <button
              type="button"
              className="btn ghost sm push"
              onClick={() => setDecided(decided.slice(0, -1))}
            >
              Back to {actions[decided.length - 1]?.name}
            </button>
          )}
        </p>
      )}
      <ActionForm key={decided.length} action={action} onDecide={decide} onJson={onJson} />
    </>
  );
}

type ActionProps = {
  action: InterruptAction;
  onDecide: (decision: Decision) => void;
  onJson: () => void;
};

function ActionForm({ action, onDecide, onJson }: ActionProps) {
  const [mode, setMode] = useState<"choose" | "edit" | "reject" | "respond">("choose");
  const { name, args, choices } = action;
  if (mode === "edit") {
    return (
      <JsonForm
        label="Arguments"
        act="Approve with changes"
        initial={toJson(args, 2)}
        isBusy={false}
        onSend={(changed) => onDecide({ type: "edit", args: changed })}
        onBack={() => setMode("choose")}
      />
    );
  }
  if (mode !== "choose") {
    return (
      <MessageForm type={mode} name={name} onDecide={onDecide} onBack={() => setMode("choose")} />
    );
  }
  return (
    <div className="ft">
      {choices.includes("approve") && (
        <button type="button" className="btn ok-b" onClick={() => onDecide({ type: "approve" })}>
          <Icon name="check" /> <span className="cut">Approve {name}</span>
        </button>
      )}
      {choices.includes("edit") && (
        <button type="button" className="btn" onClick={() => setMode("edit")}>
          <Icon name="pencil" /> Edit
        </button>
      )}
      {choices.includes("respond") && (
        <button type="button" className="btn" onClick={() => setMode("respond")}>
          <Icon name="send" /> Respond
        </button>
      )}
      {choices.includes("reject") && (
        <button type="button" className="btn danger" onClick={() => setMode("reject")}>
          <Icon name="close" /> Reject
        </button>
      )}
      {choices.includes("ignore") && (
        <button type="button" className="btn" onClick={() => onDecide({ type: "ignore" })}>
          Ignore
        </button>
      )}
      <button type="button" className="btn ghost sm push" onClick={onJson}>
        Answer with JSON
      </button>
    </div>
  );
}

type MessageProps = {
  type: "reject" | "respond";
  name: string;
  onDecide: (decision: Decision) => void;
  onBack: () => void;
};

function MessageForm({ type, name, onDecide, onBack }: MessageProps) {
  const [message, setMessage] = useState("");
  return (
    <form
      className="ft"
      onSubmit={(event) => {
        event.preventDefault();
        onDecide({ type, message });
      }}
    >
      <TextAreaField
        label={type === "reject" ? "Reason, which the agent reads" : "Response to the agent"}
        rows={2}
        autoFocus
        value={message}
        onChange={(event) => setMessage(event.target.value)}
      />
      <button type="submit" className={`btn ${type === "reject" ? "danger-pri" : "pri"}`}>
        <span className="cut">{type === "reject" ? `Reject ${name}` : "Respond"}</span>
      </button>
      <button type="button" className="btn ghost" onClick={onBack}>
        Back
      </button>
    </form>
  );
}
