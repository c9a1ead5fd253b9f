import type { KeyboardEvent, TextareaHTMLAttributes } from "react";

/**
 * A field for a secret. Accepts several lines, as private keys have them, and masks all. Enter sends the form, and
 * Shift Enter begins a line.
 */
export function SecretArea(area: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <textarea
      rows={1}
      className="in mono masked"
      spellCheck={false}
      autoComplete="off"
      autoCapitalize="off"
      onKeyDown={sendOnEnter}
      {...area}
    />
  );
}

function sendOnEnter(event: KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  const { form } = event.currentTarget;
  // A form that is being sent disables its button. `requestSubmit` ignores that.
  const isUnderWay = form?.querySelector("[type=submit]:disabled") !== null;
  if (!event.repeat && !isUnderWay) form?.requestSubmit();
}
