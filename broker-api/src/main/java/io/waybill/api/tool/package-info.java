/**
 * Service interface for bundles that add commands to {@code waybill}.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.api.tool.ToolCommand} for the command
 * <li>{@link io.waybill.api.tool.ToolRun} for its arguments and its output
 * </ul>
 */
@Version("1.0.0")
package io.waybill.api.tool;

import org.osgi.annotation.versioning.Version;
