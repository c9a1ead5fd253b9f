import { Icon } from "../icon.tsx";

type Props = { onClick: () => void };

/** `label`: what is edited, where a page has several. */
export function EditButton({ label, onClick }: Props & { label?: string }) {
  return (
    <button
      type="button"
      className="btn sm"
      aria-label={label && `Edit ${label}`}
      onClick={onClick}
    >
      <Icon name="pencil" small /> Edit
    </button>
  );
}

/** `label`: what is deleted, "Delete cron". */
export function DeleteButton({ label, onClick }: Props & { label: string }) {
  return (
    <button type="button" className="btn sm ghost icon" aria-label={label} onClick={onClick}>
      <Icon name="trash" small />
    </button>
  );
}
