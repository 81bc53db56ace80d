/** Which users a worker serves. */
package org.acme.peruid;
