CREATE TABLE `threads` (
	`deployment_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`status` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`deployment_id`, `thread_id`)
);
--> statement-breakpoint
CREATE INDEX `threads_by_creation` ON `threads` (`deployment_id`,`created_at`);