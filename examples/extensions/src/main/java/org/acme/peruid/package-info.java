/** Access policy by the user of the calling worker. */
package org.acme.peruid;
