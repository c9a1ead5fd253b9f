import { MAX_LISTED, useServingDeployments } from "./use-serving-deployments.ts";

type Props = { chosen: string; onChange: (id: string) => void };

export function DeploymentSelect({ chosen, onChange }: Props) {
  const { serving, isCut } = useServingDeployments(chosen);
  return (
    <select
      className="in auto max-w-60"
      aria-label="Deployment"
      value={chosen}
      onChange={(event) => onChange(event.target.value)}
    >
      {serving.map(({ id, name, display_name }) => (
        <option key={id} value={id}>
          {display_name ?? name}
        </option>
      ))}
      {isCut && <option disabled>Only the first {MAX_LISTED} are listed</option>}
    </select>
  );
}
