import { type ReactNode, useState } from "react";

type Props = {
  label: string;
  /** The option in force. */
  value: string;
  isPending: boolean;
  onApply: (value: string) => void;
  /** Options. */
  children: ReactNode;
};

/** A setting that is changed by a button: the arrow keys go through all options of a select. */
export function AppliedSelect({ label, value, isPending, onApply, children }: Props) {
  const [draft, setDraft] = useState({ of: value, value });
  // A setting that was changed since is chosen anew.
  const chosen = draft.of === value ? draft.value : value;
  return (
    <>
      <select
        className="in auto"
        aria-label={label}
        value={chosen}
        disabled={isPending}
        onChange={(event) => setDraft({ of: value, value: event.target.value })}
      >
        {children}
      </select>
      {chosen !== value && (
        <button
          type="button"
          className="btn sm"
          disabled={isPending}
          onClick={() => onApply(chosen)}
        >
          {isPending ? "Applying" : "Apply"}
        </button>
      )}
    </>
  );
}
