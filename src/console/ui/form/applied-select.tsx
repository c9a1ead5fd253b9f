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

/**
 * A setting that a button applies. The select does not apply it, because its arrow keys choose each option on their
 * way.
 */
export function AppliedSelect({ label, value, isPending, onApply, children }: Props) {
  const [draft, setDraft] = useState({ of: value, value });
  // A draft ends when the setting changes, by this page or another one.
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
