/**
 * Directory that a group of workers share: the names and ids of the workers, their liveness, the positions up to which
 * each has read the others, and the doorbells by which they wake each other.
 *
 * <pre>
 * &lt;home&gt;/                       0700, one owner
 *   home.properties             format version, roll cycle, {@link io.waybill.home.identity.HomeIdentity}; written once
 *   claims/id-&lt;n&gt;               symbolic link whose text is the name that has id n; never followed
 *   claims/name-&lt;name&gt;          symbolic link whose text is the id of the name; never followed, never removed
 *   workers/&lt;id&gt;-&lt;name&gt;/        0700, written by that worker alone
 *     worker.json               {@link io.waybill.home.WorkerRecord}
 *     lock/owner                0600, opened once and flocked while the worker lives; holds the epoch
 *     cursors                   {@link io.waybill.home.cursor.Cursors}
 *     doorbell                  {@link io.waybill.home.Doorbell}
 *     contacts                  {@link io.waybill.home.Contacts}
 * </pre>
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.home.Home#open} and {@link io.waybill.home.Home#join} to take part
 *   <li>{@link io.waybill.home.Membership} to list the workers that are there
 * </ul>
 */
package io.waybill.home;
