import { queryOptions, useQuery } from "@tanstack/react-query";
import type { Me, SignInWays } from "../../control-plane/workspaces/session/session-schema.ts";
import { call } from "./client.ts";
import { useWorkspaceId } from "./hooks.ts";
import { apiPath, SESSION } from "./path.ts";

export type WorkspaceOfMe = Me["workspaces"][number];

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => call<Me>(apiPath`/v1/me`, { signal }),
  staleTime: 60_000,
});

export const signInWaysQuery = queryOptions({
  queryKey: ["sign-in-ways"],
  queryFn: ({ signal }) => call<SignInWays>(SESSION, { signal }),
  staleTime: 60_000,
});

export function useMe(): Me {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error("The route loads the principal before its pages");
  return data;
}

export function useWorkspace(): WorkspaceOfMe {
  const id = useWorkspaceId();
  const found = useMe().workspaces.find((workspace) => workspace.id === id);
  if (found === undefined) throw new Error("The shell checks the workspace before its pages");
  return found;
}

export type GuardedAction = "write" | "delete" | "admin";

/** Roles by action, as `ALLOWED` of `shared/auth.ts` has them. */
const ROLES: Record<GuardedAction, WorkspaceOfMe["role"][]> = {
  write: ["editor", "admin"],
  delete: ["admin"],
  admin: ["admin"],
};

/** Pages leave out the actions that the role does not allow. The API refuses them too. */
export function useMay(action: GuardedAction): boolean {
  return ROLES[action].includes(useWorkspace().role);
}

export function signIn(api_key: string): Promise<Me> {
  return call<Me>(SESSION, { method: "POST", body: { api_key } });
}

export function signOut(): Promise<void> {
  return call(SESSION, { method: "DELETE" });
}
