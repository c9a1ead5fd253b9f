import { Icon } from "../icon.tsx";

type Props = { onClick: () => void };

/** @param label the item that is edited, on a page with several buttons */
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

/** @param label the act and the item, such as "Delete cron" */
export function DeleteButton({ label, onClick }: Props & { label: string }) {
  return (
    <button type="button" className="btn sm ghost icon" aria-label={label} onClick={onClick}>
      <Icon name="trash" small />
    </button>
  );
}
