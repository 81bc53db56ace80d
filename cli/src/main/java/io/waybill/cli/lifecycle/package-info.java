/**
 * Commands that stop running nodes: {@code waybill stop} and {@code waybill restart}. Start with {@code RunningNode}.
 */
package io.waybill.cli.lifecycle;
