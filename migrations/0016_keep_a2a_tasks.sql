CREATE TABLE `a2a_tasks` (
	`deployment_id` text NOT NULL,
	`task_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`run_id` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`deployment_id`, `task_id`)
);
--> statement-breakpoint
CREATE INDEX `a2a_tasks_by_creation` ON `a2a_tasks` (`created_at`);