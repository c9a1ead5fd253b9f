import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Deployment } from "../../control-plane/deployments/schema.ts";
import { useWorkspaceId } from "../api/hooks.ts";
import { pathTo } from "../state/path.ts";
import { Empty } from "../ui/panel.tsx";
import { ErrorState, Skeleton } from "../ui/states.tsx";
import { DeploymentSelect } from "./deployment-select.tsx";
import { useServingDeployment } from "./use-serving-deployments.ts";

type Props = {
  /** Id or name in the address. */
  wanted: string | undefined;
  onChange: (deployment: string) => void;
  children: (deployment: Deployment) => ReactNode;
};

/** A page of one deployment that serves, with the choice of another one. */
export function ServingPage({ wanted, onChange, children }: Props) {
  const { chosen, isPending, error, retry } = useServingDeployment(wanted);
  const workspace = useWorkspaceId();
  if (isPending) return <Skeleton />;
  if (chosen === null && error !== null) {
    return <ErrorState what="The deployments could not be read" error={error} retry={retry} />;
  }
  if (chosen === null) {
    return (
      <Empty
        title={wanted === undefined ? "No deployment serves yet" : `“${wanted}” does not serve`}
        action={<Link to={pathTo(workspace, "/deployments")}>Open deployments</Link>}
      >
        Once a revision of a deployment is built, its agents are here.
      </Empty>
    );
  }
  return (
    <>
      <div className="bar">
        <DeploymentSelect chosen={chosen.id} onChange={onChange} />
      </div>
      {children(chosen)}
    </>
  );
}
