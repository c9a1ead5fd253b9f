type Props = {
  fraction: number;
  label: string;
  tone?: "ok" | "idle" | "wait" | "err" | "";
};

export function ProgressBar({ fraction, label, tone = fraction === 1 ? "ok" : "" }: Props) {
  const percent = Math.min(fraction, 1) * 100;
  return (
    <span
      className="prog grow"
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(percent)}
    >
      <i style={{ width: `${percent}%` }} className={tone} />
    </span>
  );
}
