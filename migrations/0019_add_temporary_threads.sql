CREATE TABLE `temporary_threads` (
	`deployment_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`metadata` text NOT NULL,
	`listed_at` text NOT NULL,
	PRIMARY KEY(`deployment_id`, `thread_id`)
);
