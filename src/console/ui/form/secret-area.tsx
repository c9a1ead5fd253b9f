import type { KeyboardEvent, TextareaHTMLAttributes } from "react";

/** A value that is sent once. Keeps several lines, as keys have them, and shows none of them. Enter sends the form. */
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
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
