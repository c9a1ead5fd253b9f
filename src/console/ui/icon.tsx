import { SHAPES } from "./icons/shapes.tsx";
import { STATUS_SHAPES } from "./icons/status-shapes.tsx";

const ALL = { ...SHAPES, ...STATUS_SHAPES };

export type IconName = keyof typeof ALL;

type Props = { name: IconName; small?: boolean; className?: string };

export function Icon({ name, small = false, className = "" }: Props) {
  return (
    <svg className={`i ${small ? "s" : ""} ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      {ALL[name]}
    </svg>
  );
}
