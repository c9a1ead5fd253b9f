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
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  const { form } = event.currentTarget;
  // A form under way disables its button, which a request to submit does not look at.
  const isUnderWay = form?.querySelector("[type=submit]:disabled") !== null;
  if (!event.repeat && !isUnderWay) form?.requestSubmit();
}
