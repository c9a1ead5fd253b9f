/** Returns the address of a page, given its path below the workspace. */
export function pathTo(workspace: string, path: string): string {
  return `/w/${workspace}${path}`;
}
