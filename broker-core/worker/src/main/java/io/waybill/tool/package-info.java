/**
 * Commands that bundles and programs add to {@code waybill}: their registry, and their runs.
 *
 * <p>Start at {@link io.waybill.tool.ToolCommands}.
 */
package io.waybill.tool;
