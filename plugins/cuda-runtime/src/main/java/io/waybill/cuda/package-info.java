/**
 * JCuda's native library, loaded once per process.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cuda.CudaNatives} for its origin
 * </ul>
 */
@Version("0.1.0")
package io.waybill.cuda;

import org.osgi.annotation.versioning.Version;
