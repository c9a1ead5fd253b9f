/** Bindings of the Worker, which files that schemas import name. No page reads one. */
interface Env {
  [binding: string]: never;
}
