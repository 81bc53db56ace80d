/**
 * The commands that bundles and programs add to {@code waybill}: which there are, and their runs.
 *
 * <p>Start at {@link io.waybill.tool.ToolCommands}.
 */
package io.waybill.tool;
