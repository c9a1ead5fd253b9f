type Props = {
  act: string;
  /** The act while it is under way. */
  busy: string;
  isBusy: boolean;
  onClose: () => void;
};

/** The buttons that end a form in a dialog. */
export function FormFooter({ act, busy, isBusy, onClose }: Props) {
  return (
    <footer>
      <button type="button" className="btn" onClick={onClose}>
        Close
      </button>
      <button type="submit" className="btn pri" disabled={isBusy}>
        {isBusy ? busy : act}
      </button>
    </footer>
  );
}
